"""The rail with a judge: prompts of the product as a real large language model answered them, replayed.

    python benchmarks/judge.py [--data DIR]                      # measure, over benchmarks/judge/replies.jsonl.gz
    python benchmarks/judge.py [--data DIR] --missing FOLDER      # write the requests that nobody has answered yet

How requests are answered and replies kept: `judge_replies.py`; a case whose request has no reply is reported as not
answered. The product talks to the replies through its own OpenAI client over real HTTP. The other prompts:
`judge_tasks.py`. Cases: answers beside several passages (`rag_answers.jsonl`), everyday statements, held-out statements
by phenomenon, and with `--data` rows of HaluEval-QA; what they were chosen by stands in `cases`."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from judge_curve import curve, draw, merged
from judge_curve import rows_of as rows_of_curve
from judge_replies import Recorded, rows_of, write_missing
from judge_selection import Answers, rows_of_selection
from tables import publish

from evidencerails import Guard, Report
from evidencerails.evaluation.metrics import balanced_accuracy, bootstrap_interval
from evidencerails.measures.metrics import is_between
from evidencerails.settings.scoring import CascadeSettings
from evidencerails.testing import ReplayServer

HERE = Path(__file__).parent
HELD_OUT = HERE.parent / "training" / "passages_held_out.jsonl"


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


class Outcome(NamedTuple):
    """What the rail said of one sentence or answer."""

    case: Case
    is_right: bool
    kind: str
    is_flagged: bool
    is_unverified: bool


JUDGED = {"checks": ["claims"], "claims": {"extractor": "offline", "classifier": "llm"}}
CASCADE = {"checks": ["claims"], "claims": {"extractor": "offline", "classifier": "auto"}}
SETTINGS: dict[str, dict[str, Any]] = {
    "no claim": {"checks": ["claims"], "claims": {"extractor": "offline", "classifier": "offline"}},
    "every claim": JUDGED,
    "default cascade": CASCADE,
}
DEFAULT = CascadeSettings()


def outcomes_of(case: Case, report: Report) -> Iterator[Outcome]:
    """One outcome a sentence with a label: flagged if a claim in it is unsupported."""
    at = 0
    for text, is_right, kind in case.labels:
        start = case.answer.index(text, at)
        at = start + len(text)
        own = [claim for claim in report.claims if start <= claim.span.start < at]
        bad = any(claim.label in ("contradicted", "absent", "partially_supported") for claim in own)
        unsure = any(claim.label == "unevaluatable" for claim in own) or (not own and report.status == "unverified")
        yield Outcome(case, is_right, kind, bad, unsure and not bad)


def run(settings: dict[str, Any], chosen: Sequence[Case], recorded: Recorded) -> list[tuple[Case, Report]]:
    """Every case through a guard whose judge is the recording."""
    done = []
    with ReplayServer() as server:
        recorded.serve(server)
        llm = {"base_url": server.base_url, "model": "recorded", "api_key": "none"}
        guard = Guard({**settings, "llm": llm})
        for case in chosen:
            recorded.is_public = case.set == "HaluEval-QA"
            asked = case.question or None
            done.append((case, guard.check_sync(case.answer, evidence=list(case.evidence), prompt=asked)))
    return done


def asked(reports: Sequence[Report]) -> tuple[float, float]:
    """Calls and tokens for one answer, on the average."""
    used = [report.llm for report in reports if report.llm is not None]
    return sum(u.calls for u in used) / len(reports), sum(u.prompt_tokens + u.completion_tokens for u in used) / len(
        reports
    )


def figures(outcomes: Sequence[Outcome]) -> list[str]:
    """Right flagged, wrong caught, not verified, F1, balanced accuracy with its interval (groups drawn)."""
    right = [one for one in outcomes if one.is_right]
    wrong = [one for one in outcomes if not one.is_right]
    # What is not verified counts as wrong: a right one as flagged, a wrong one as missed.
    flags = [float(one.is_flagged or (one.is_unverified and one.is_right)) for one in outcomes]
    groups = [one.case.group for one in outcomes]
    found = bootstrap_interval([not one.is_right for one in outcomes], flags, balanced_accuracy, groups=groups)
    shares = (
        sum(one.is_flagged for one in right) / len(right),
        sum(one.is_flagged for one in wrong) / len(wrong),
        sum(one.is_unverified for one in outcomes) / len(outcomes),
    )
    caught = sum(one.is_flagged for one in wrong)
    f1 = caught / (caught + (sum(flags) - caught + len(wrong) - caught) / 2) if caught else 0.0
    return [*(f"{share:.1%}" for share in shares), f"{f1:.3f}", f"{found.value:.3f} ({found.low:.3f}–{found.high:.3f})"]


def measure(chosen: Sequence[Case], recorded: Recorded) -> None:
    """Each setting over the cases; the cascade's curve; kinds of error."""
    head = ["judge asked about", "set", "n", "right flagged", "wrong caught", "unverified", "F1", "bal. acc.", "calls"]
    table = [head]
    data: dict[str, Any] = {}
    runs: dict[str, list[tuple[Case, Report]]] = {}
    for name, settings in SETTINGS.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        runs[name] = done = run(settings, chosen, recorded)
        outcomes = [one for case, report in done for one in outcomes_of(case, report)]
        for part in dict.fromkeys(case.set for case, _ in done):
            own = [one for one in outcomes if one.case.set == part]
            calls, _ = asked([report for case, report in done if case.set == part])
            table.append([name, part, str(len(own)), *figures(own), f"{calls:.2f}"])
            data[f"{name}: {part}"] = {"figures": figures(own), "calls": calls}
    details = [report.checks["claims"].details for _, report in runs["every claim"]]
    data["untrusted"] = counted(one.get("untrusted", {}) for one in details)
    data |= {
        "replies": len(recorded.rows),
        "not answered": len(recorded.missing),
        "read at once": read_at_once(recorded),
    }
    publish("judge", table, data)
    publish("judge kinds", by_phenomenon({name: runs[name] for name in SETTINGS}), {})
    found = curve(runs["no claim"], runs["every claim"], outcomes_of)
    default = found.at(DEFAULT.low, DEFAULT.high)
    draw(found, default)
    publish("judge curve", rows_of_curve(found, default), {"put together otherwise": differing(runs)})
    publish("judge selection", rows_of_selection(Answers(runs["no claim"], runs["every claim"], outcomes_of)), {})


def differing(runs: Mapping[str, list[tuple[Case, Report]]]) -> int:
    """Sentences that the cascade called otherwise than its two runs put together do."""
    count = 0
    for (case, local), (_, judged), (_, real) in zip(*(runs[name] for name in SETTINGS), strict=True):
        report, _ = merged(local, judged, lambda claim: is_between(claim.score, DEFAULT))
        pairs = zip(outcomes_of(case, report), outcomes_of(case, real), strict=True)
        count += sum(one != other for one, other in pairs)
    return count


def by_phenomenon(runs: Mapping[str, list[tuple[Case, Report]]]) -> list[list[str]]:
    """A row for each kind of held-out statement and of RAG answers: right ones called so, wrong ones called so."""
    rows = [["statements", "n", *(f"{name} asked: {side}" for name in runs for side in ("right", "wrong"))]]
    every = {name: [one for case, report in done for one in outcomes_of(case, report)] for name, done in runs.items()}
    first = next(iter(every.values()))
    for part in ("held out", "rag answers"):
        for kind in sorted({one.kind for one in first if one.case.set == part}):
            row = [f"{part}: {kind}", str(sum(one.case.set == part and one.kind == kind for one in first))]
            for outcomes in every.values():
                own = [one for one in outcomes if one.case.set == part and one.kind == kind]
                for is_right in (True, False):
                    side = [one for one in own if one.is_right is is_right]
                    agreed = sum(not one.is_unverified and one.is_flagged is not is_right for one in side)
                    row.append(f"{agreed / len(side):.0%} of {len(side)}" if side else "")
            rows.append(row)
    return rows


def counted(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts added up."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def read_at_once(recorded: Recorded) -> float:
    """Share of first requests whose reply the parser could read: no request to repair it followed."""
    return 1.0 - recorded.repairs / max(1, recorded.firsts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the public sets")
    parser.add_argument("--missing", type=Path, help="write requests without a reply into this folder")
    arguments = parser.parse_args()
    chosen = list(cases(arguments.data))
    recorded = Recorded()
    if arguments.missing:
        for settings in SETTINGS.values():
            run(settings, chosen, recorded)
        write_missing(arguments.missing, recorded)
        return
    measure(chosen, recorded)


if __name__ == "__main__":
    main()
