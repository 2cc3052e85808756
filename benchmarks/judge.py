"""The rail with a judge: prompts of the product as a real large language model answered them, replayed.

    python benchmarks/judge.py [--data DIR]                      # measure, over benchmarks/judge/replies.jsonl.gz
    python benchmarks/judge.py [--data DIR] --missing FOLDER      # write the requests that nobody has answered yet
    python benchmarks/judge.py --take FOLDER --answered-by NAME   # keep the replies that stand beside them

A request is written as `KEY.json` (its messages and nothing else: no label, no id of the case), its reply goes beside
it as `KEY.txt`, unedited. Replies stand in the file by the key, the hash of the messages: a prompt that was changed
finds none, and its cases are reported as not answered. The product talks to them through its own OpenAI client over
real HTTP. Cases: answers beside several passages (`rag_answers.jsonl`), everyday statements, held-out statements by
phenomenon, and with `--data` rows of HaluEval-QA; what they were chosen by stands in `cases`."""

from __future__ import annotations

import argparse
import datetime
import gzip
import hashlib
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tables import publish

from evidencerails import Guard, Report
from evidencerails.evaluation.metrics import balanced_accuracy, bootstrap_interval
from evidencerails.testing import ReplayRequest, ReplayServer

HERE = Path(__file__).parent
REPLIES = HERE / "judge" / "replies.jsonl.gz"
HELD_OUT = HERE.parent / "training" / "passages_held_out.jsonl"
NOT_RECORDED = 418
"""HTTP status of a request that nobody has answered; no client tries it again."""


class Case(NamedTuple):
    """An answer to check, and what is known about it."""

    set: str
    group: str
    question: str
    answer: str
    evidence: tuple[str, ...]
    labels: tuple[tuple[str, bool, str], ...]
    """Sentences of the answer, whether each is right, and the phenomenon; one entry for a whole answer."""

    @property
    def is_right(self) -> bool:
        """True if every sentence is."""
        return all(right for _, right, _ in self.labels)


def cases(data: Path | None) -> Iterator[Case]:
    """Two right and two wrong answers of each set of passages, four statements of each everyday document, six
    statements of each of 60 held-out rows, 60 rows of HaluEval-QA; drawn at random with one seed."""
    rng = random.Random(11)
    for row in rows_of(HERE / "rag_answers.jsonl"):
        for side in (True, False):
            for one in rng.sample([a for a in row["answers"] if a["right"] is side], 2):
                label = (one["answer"], side, one["kind"])
                yield Case("rag answers", row["id"], one["question"], one["answer"], tuple(row["passages"]), (label,))
    documents = defaultdict(list)
    for row in rows_of(HERE / "everyday_cases.jsonl"):
        documents[row["passage"]].append(row)
    for passage, rows in documents.items():
        right = [row for row in rows if row["label"] == "supported"]
        wrong = [row for row in rows if row["label"] != "supported"]
        for row in (*rng.sample(right, 2), *rng.sample(wrong, 2)):
            label = (row["statement"], row["label"] == "supported", row["label"])
            yield Case("everyday documents", passage[:40], "", row["statement"], (passage,), (label,))
    held_out = [row for row in rows_of(HELD_OUT) if len(row["statements"]) >= 6 and row["id"][0] != "V"]
    for row in rng.sample(held_out, 60):
        chosen = rng.sample([s for s in row["statements"] if s[-1].endswith(".")], 6)
        labels = tuple((text, label == "e", kind) for label, kind, *_, text in chosen)
        yield Case("held out", row["id"], "", " ".join(t for t, *_ in labels), tuple(row["passages"]), labels)
    if data is not None:
        rows = rows_of(data / "bench" / "halueval_qa.jsonl.gz")
        for row in rng.sample(rows, 60):
            label = (row["response"], not row["hallucinated"], "answer")
            yield Case("HaluEval-QA", row["id"], row["prompt"], row["response"], tuple(row["evidence"]), (label,))


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSON-lines file, compressed or not."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def key_of(messages: Sequence[dict[str, Any]]) -> str:
    """Hash of what a model is shown."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()[:20]


class Recorded:
    """Replies by key, served over HTTP; requests without one are kept, and answered with status 418.

    A question about some claims of a recorded list is answered by their entries of that list, as they stand there: so
    one recording serves every setting of the cascade.
    """

    def __init__(self) -> None:
        self.rows = {row["key"]: row for row in rows_of(REPLIES)} if REPLIES.exists() else {}
        self.missing: dict[str, list[dict[str, Any]]] = {}
        self.firsts = self.repairs = 0
        self._entries: dict[tuple[str, str], dict[str, Any]] = {}
        for row in self.rows.values():
            self._entries |= entries_of(row["messages"], row["reply"])

    def serve(self, server: ReplayServer) -> None:
        """Script a server with the replies."""
        server.reply(lambda request: self.reply_to(request.body["messages"]) or "", when=self._is_known)
        server.reply(status=NOT_RECORDED, message="not recorded", when=self._is_missing)

    def reply_to(self, messages: list[dict[str, Any]]) -> str | None:
        """The recorded reply, or one put together from recorded entries; None if there is neither."""
        if row := self.rows.get(key_of(messages)):
            return str(row["reply"])
        evidence, claims = asked_in(messages)
        found = [self._entries.get((evidence, claim)) for claim in claims]
        if not claims or len(messages) > 2 or not all(found):
            return None
        numbered = [{**entry, "claim": number} for number, entry in enumerate(found, 1) if entry]
        return json.dumps({"verdicts": numbered})

    def _is_known(self, request: ReplayRequest) -> bool:
        if len(request.body["messages"]) > 2:
            self.repairs += 1
        else:
            self.firsts += 1
        return self.reply_to(request.body["messages"]) is not None

    def _is_missing(self, request: ReplayRequest) -> bool:
        messages = request.body["messages"]
        self.missing[key_of(messages)] = messages
        return True


def asked_in(messages: Sequence[dict[str, Any]]) -> tuple[str, list[str]]:
    """Instructions with evidence, and the numbered claims, of a question that classifies claims."""
    text = str(messages[-1]["content"])
    head, mark, rest = text.partition("<claims>")
    lines = rest.partition("</claims>")[0].strip().split("\n") if mark else []
    return head, [line.partition(". ")[2] for line in lines if re.match(r"\d+\. ", line)]


def entries_of(messages: Sequence[dict[str, Any]], reply: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Verdicts of a recorded list by evidence and claim; none of a reply that is no plain JSON."""
    evidence, claims = asked_in(messages) if messages else ("", [])
    try:
        verdicts = json.loads(reply)["verdicts"] if claims else []
    except (ValueError, KeyError, TypeError):
        return {}
    numbered = {v.get("claim"): v for v in verdicts if isinstance(v, dict)}
    return {(evidence, claim): numbered[n] for n, claim in enumerate(claims, 1) if n in numbered}


class Outcome(NamedTuple):
    """What the rail said of one sentence or answer."""

    case: Case
    is_right: bool
    kind: str
    is_flagged: bool
    is_unverified: bool


JUDGED = {"checks": ["claims"], "claims": {"extractor": "offline", "classifier": "llm"}}
SETTINGS: dict[str, dict[str, Any]] = {
    "no judge": {"checks": ["claims"], "claims": {"extractor": "offline", "classifier": "offline"}},
    "every claim": JUDGED,
}
for width in (0.2, 0.3):
    band = {"cascade": {"low": round(0.5 - width, 2), "high": round(0.5 + width, 2)}}
    claims = {"extractor": "offline", "classifier": "auto"}
    SETTINGS[f"claims from {0.5 - width:.1f} to {0.5 + width:.1f}"] = {
        "checks": ["claims"],
        "claims": claims,
        "scoring": band,
    }
EXTRACTED = {"checks": ["claims"], "claims": {"extractor": "llm", "classifier": "offline"}}


def outcomes_of(case: Case, report: Report) -> Iterator[Outcome]:
    """One outcome a sentence with a label: flagged if a claim in it is unsupported."""
    at = 0
    for text, is_right, kind in case.labels:
        start = case.answer.index(text, at)
        at = start + len(text)
        own = [claim for claim in report.claims if start <= claim.span.start < at]
        bad = any(claim.label in ("contradicted", "absent", "partially_supported") for claim in own)
        unsure = any(claim.label == "unevaluatable" for claim in own) or report.status == "unverified"
        yield Outcome(case, is_right, kind, bad, unsure and not bad)


def run(settings: dict[str, Any], chosen: Sequence[Case], recorded: Recorded) -> list[tuple[Case, Report]]:
    """Every case through a guard whose judge is the recording."""
    with ReplayServer() as server:
        recorded.serve(server)
        llm = {"base_url": server.base_url, "model": "recorded", "api_key": "none"}
        guard = Guard({**settings, "llm": llm})
        return [
            (case, guard.check_sync(case.answer, evidence=list(case.evidence), prompt=case.question or None))
            for case in chosen
        ]


def asked(reports: Sequence[Report]) -> tuple[float, float]:
    """Calls and tokens for one answer, on the average."""
    used = [report.llm for report in reports if report.llm is not None]
    return sum(u.calls for u in used) / len(reports), sum(u.prompt_tokens + u.completion_tokens for u in used) / len(
        reports
    )


def figures(outcomes: Sequence[Outcome]) -> list[str]:
    """Honest flagged, wrong caught, not verified, balanced accuracy with its interval (groups drawn)."""
    right = [one for one in outcomes if one.is_right]
    wrong = [one for one in outcomes if not one.is_right]
    # What is not verified counts as wrong: an honest one as flagged, a wrong one as missed.
    flags = [float(one.is_flagged or (one.is_unverified and one.is_right)) for one in outcomes]
    groups = [one.case.group for one in outcomes]
    found = bootstrap_interval([not one.is_right for one in outcomes], flags, balanced_accuracy, groups=groups)
    shares = (
        sum(one.is_flagged for one in right) / len(right),
        sum(one.is_flagged for one in wrong) / len(wrong),
        sum(one.is_unverified for one in outcomes) / len(outcomes),
    )
    return [*(f"{share:.1%}" for share in shares), f"{found.value:.3f} ({found.low:.3f}–{found.high:.3f})"]


def measure(chosen: Sequence[Case], recorded: Recorded) -> None:
    """Each setting over the cases; what one answer costs; claims written by the model."""
    table = [["judge asked about", "set", "n", "honest flagged", "wrong caught", "unverified", "bal. acc.", "calls"]]
    data: dict[str, Any] = {}
    for name, settings in SETTINGS.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        done = run(settings, chosen, recorded)
        outcomes = [one for case, report in done for one in outcomes_of(case, report)]
        for part in dict.fromkeys(case.set for case, _ in done):
            own = [one for one in outcomes if one.case.set == part]
            calls, tokens = asked([report for case, report in done if case.set == part])
            table.append([name, part, str(len(own)), *figures(own), f"{calls:.2f}"])
            data[f"{name}: {part}"] = {"figures": figures(own), "calls": calls, "tokens": tokens}
        if name == "every claim":
            data["untrusted"] = counted(report.checks["claims"].details.get("untrusted", {}) for _, report in done)
            data["by phenomenon"] = by_phenomenon([one for one in outcomes if one.case.set == "held out"])
    data |= {
        "replies": len(recorded.rows),
        "not answered": len(recorded.missing),
        "read at once": read_at_once(recorded),
    }
    answers = [case for case in chosen if case.set == "rag answers"]
    written = [report for _, report in run(EXTRACTED, answers[::2], recorded)]
    data["extraction"] = {
        "answers": len(written),
        "claims": sum(len(report.claims) for report in written),
        "dropped": sum(len(report.checks["claims"].details.get("dropped_claims", ())) for report in written),
    }
    publish("judge", table, data)


def by_phenomenon(outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
    """Figures of each phenomenon that has right and wrong statements."""
    kinds = {kind: [one for one in outcomes if one.kind == kind] for kind in sorted({one.kind for one in outcomes})}
    return {kind: figures(own) for kind, own in kinds.items() if len({one.is_right for one in own}) == 2}


def counted(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts added up."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def read_at_once(recorded: Recorded) -> float:
    """Share of first requests whose reply the parser could read: no request to repair it followed."""
    return 1.0 - recorded.repairs / max(1, recorded.firsts)


def write_missing(folder: Path, recorded: Recorded) -> None:
    """The requests that nobody has answered, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, messages in recorded.missing.items():
        (folder / f"{key}.json").write_text(json.dumps(messages, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"{len(recorded.missing)} requests without a reply")


def take(folder: Path, answered_by: str) -> None:
    """Keep the replies that stand beside their requests, unedited; of requests about rows of others the key alone."""
    rows = {row["key"]: row for row in rows_of(REPLIES)} if REPLIES.exists() else {}
    today = datetime.date.today().isoformat()
    own = [text.strip("-*• \n")[:25] for case in cases(None) for text in (*case.evidence, case.answer)]
    for reply in sorted(folder.glob("*.txt")):
        messages = json.loads(reply.with_suffix(".json").read_text(encoding="utf-8"))
        text = reply.read_text(encoding="utf-8")
        if not any(passage in messages[1]["content"] for passage in own):
            messages = []
        row = {"key": reply.stem, "messages": messages, "reply": text, "answered_by": answered_by, "date": today}
        rows.setdefault(reply.stem, row)
    REPLIES.parent.mkdir(exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values())
    REPLIES.write_bytes(gzip.compress(lines.encode(), mtime=0))
    print(f"{len(rows)} replies in {REPLIES}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the public sets")
    parser.add_argument("--missing", type=Path, help="write requests without a reply into this folder")
    parser.add_argument("--take", type=Path, help="keep the replies of this folder")
    parser.add_argument("--answered-by", default="")
    arguments = parser.parse_args()
    if arguments.take:
        take(arguments.take, arguments.answered_by)
        return
    chosen = list(cases(arguments.data))
    recorded = Recorded()
    if arguments.missing:
        run(JUDGED, chosen, recorded)
        answers = [case for case in chosen if case.set == "rag answers"]
        run(EXTRACTED, answers[::2], recorded)
        write_missing(arguments.missing, recorded)
        return
    measure(chosen, recorded)


if __name__ == "__main__":
    main()
