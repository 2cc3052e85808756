"""The prompts beside classification, as a real large language model answered them, replayed.

    python benchmarks/judge_tasks.py --data DIR [--missing FOLDER]

Extraction, the measures `judge` and `qa`, the self check, chain of verification, repair, answers with sources, audit of
reasoning, answers of the red team, and 100 attempts to talk the classifier into a verdict. Cases are drawn with one
seed: rows of `training/passages_development.jsonl`, of `logic_cases.jsonl`, of the red team's suite, and of public
sets below `--data`. `--missing` writes the requests without a reply (see `judge_replies.py`). What a reader said of a
hundred extractions stands in `judge/extraction_reading.jsonl`, a row an answer: how many claims say what the answer
does not (`unfaithful`), how many of its statements no claim carries (`left_out`), how many spans stand on other words.
A row counts as long as claims (and for spans, those) are the ones that were read."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from judge import cases
from judge_injection import injections
from judge_replies import Recorded, Spent, rows_of, write_missing
from tables import publish

from evidencerails import Guard, Report
from evidencerails.evaluation.redteam.history import SHIPPED, read_suite
from evidencerails.evaluation.redteam.outcomes import asked_behaviour
from evidencerails.evaluation.redteam.targets import WITHOUT_SETTINGS, EngineTarget
from evidencerails.exchange import Exchange, Span
from evidencerails.measures.base import run_measure
from evidencerails.measures.judge import JudgeMeasure
from evidencerails.measures.qa import QaMeasure
from evidencerails.testing import ReplayServer

HERE = Path(__file__).parent
READING = HERE / "judge" / "extraction_reading.jsonl"
DEVELOPMENT = HERE.parent / "training" / "passages_development.jsonl"


class Row(NamedTuple):
    """Passages, and sentences about them with their label: e (stated), n (not stated), c (denied)."""

    question: str
    passages: tuple[str, ...]
    statements: tuple[tuple[str, str], ...]
    """Label and text."""
    answer: str
    """One written to the question, its sentences right and wrong."""
    is_public: bool = False

    def chosen(self, labels: str) -> list[str]:
        """So many statements as there are letters, each with that label; fewer if there are not as many."""
        left = [one for one in self.statements if one[1].endswith(".")]
        found = []
        for label in labels:
            one = next((one for one in left if one[0] == label), None)
            if one:
                left.remove(one)
                found.append(one[1])
        return found


class Statement(NamedTuple):
    """What a measure reads of a claim."""

    text: str
    span: Span


def development_rows(count: int, seed: int) -> list[Row]:
    """Rows of the development passages with at least two right and two wrong statements, statements in random order."""
    rng = random.Random(seed)
    found = []
    for row in rng.sample(rows := rows_of(DEVELOPMENT), len(rows)):
        statements = [(one[0], one[-1]) for one in row["statements"]]
        rng.shuffle(statements)
        labels = Counter(label for label, _ in statements)
        if labels["e"] < 3 or labels["c"] < 2 or "answer" not in row:
            continue
        answer = " ".join(text for *_, text in row["answer"]["sentences"])
        found.append(Row(row["answer"]["question"], tuple(row["passages"]), tuple(statements), answer))
    return found[:count]


def public_rows(data: Path, name: str, count: int, *, longest: int = 6_000) -> list[Row]:
    """Rows of a public set whose label is about the whole response, as one statement."""
    rows = [row for row in rows_of(data / "bench" / f"{name}.jsonl.gz") if sum(map(len, row["evidence"])) <= longest]
    return [
        Row(
            row.get("prompt", ""),
            tuple(row["evidence"]),
            (("c" if row.get("hallucinated") else "e", row["response"]),),
            row["response"],
            is_public=True,
        )
        for row in random.Random(5).sample(rows, count)
    ]


class Bench:
    """A guard whose model is the recording."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.server = ReplayServer()

    def __enter__(self) -> Bench:
        self.server.__enter__()
        self.recorded.serve(self.server)
        return self

    def __exit__(self, *error: Any) -> None:
        self.server.__exit__(*error)

    def guard(self, **settings: Any) -> Guard:
        """A guard with these settings."""
        endpoint = {"base_url": self.server.base_url, "model": "recorded", "api_key": "none"}
        return Guard({**settings, "llm": {**endpoint, "max_retries": 0}})

    def check(self, guard: Guard, row: Row, answer: str, **rest: Any) -> Report:
        """An answer beside the row's passages."""
        self.recorded.is_public = row.is_public
        return guard.check_sync(answer, evidence=list(row.passages), prompt=row.question or None, **rest)


def extraction(bench: Bench, data: Path) -> list[tuple[Row, Report]]:
    """Answers of every length and kind, their claims written by the model; then half of the RAG answers."""
    guard = bench.guard(checks=["claims"], claims={"extractor": "llm", "classifier": "offline"})
    rows = [
        *development_rows(25, seed=1),
        *public_rows(data, "wikibio", 12),
        *public_rows(data, "summeval", 12),
        *public_rows(data, "summedits", 11),
    ]
    rag = [case for case in cases(None) if case.set == "rag answers"][::2]
    rows += [Row(case.question, case.evidence, (), case.answer) for case in rag]
    return [(row, bench.check(guard, row, row.answer)) for row in rows]


def measure_rows(data: Path) -> list[tuple[Row, list[tuple[str, str]]]]:
    """Rows with the statements that the measures `judge` and `qa` are asked about."""
    own = [(row, list(row.statements[:8])) for row in development_rows(20, seed=2)]
    return own + [(row, list(row.statements)) for row in public_rows(data, "qags_cnndm", 10)]


def measures(bench: Bench, data: Path) -> list[tuple[str, str, float | None, str]]:
    """Measure, label, score and reason of each statement."""
    guard, found = bench.guard(), []
    for row, statements in measure_rows(data):
        bench.recorded.is_public = row.is_public
        exchange = Exchange.of(" ".join(text for _, text in statements), evidence=list(row.passages))
        asked = [Statement(text, Span.of(text, 0, len(text))) for _, text in statements]
        for measure in (JudgeMeasure(), QaMeasure()):
            result = asyncio.run(_measured(measure, exchange, asked, guard))
            pairs = zip(statements, result.claims, strict=True)
            found += [(measure.name, label, one.score, one.reason) for (label, _), one in pairs]
    return found


async def _measured(measure: Any, exchange: Exchange, asked: Sequence[Statement], guard: Guard) -> Any:
    return await run_measure(measure, exchange, asked, guard.context(exchange)[0])


def self_check(bench: Bench) -> list[tuple[str, Report]]:
    """A statement beside a passage as the other sample: 14 denied, 13 stated, 13 not stated (those agree)."""
    guard = bench.guard(checks=["consistency"], consistency={"agreement": "judge"})
    found = []
    for place, row in enumerate(development_rows(40, seed=3)):
        label = "cen"[place % 3]
        texts = row.chosen(label) or row.chosen("c")
        label = label if row.chosen(label) else "c"
        bench.recorded.is_public = False
        sample = "\n\n".join(row.passages)
        found.append((label, guard.check_sync(texts[0], samples=[sample], prompt=row.question)))
    return found


def verification(bench: Bench) -> list[tuple[Row, list[str], Report]]:
    """Answers of two right and two wrong statements, every claim verified by a question."""
    settings = {"enabled": True, "min_severity": 0.0}
    guard = bench.guard(checks=["claims"], claims={"classifier": "offline"}, verification=settings)
    found = []
    for row in development_rows(30, seed=4):
        texts = row.chosen("ecen")
        found.append((row, texts, bench.check(guard, row, " ".join(texts))))
    return found


def red_team(bench: Bench) -> list[tuple[Any, Any]]:
    """The model's own answers to attacks of the suite, and what the checks without a model make of them."""
    attacks = [one for one in read_suite(SHIPPED) if sum(map(len, one.evidence)) < 8_000]
    chosen = random.Random(6).sample(attacks, 25)
    bench.recorded.is_public = False
    target = EngineTarget(bench.guard(claims={"classifier": "offline"}), checks=WITHOUT_SETTINGS)
    return [(attack, asyncio.run(target.asked(attack))) for attack in chosen]


def generation(bench: Bench) -> list[tuple[Row, Any]]:
    """Answers with sources, written from the evidence."""
    guard, found = bench.guard(), []
    for row in development_rows(15, seed=7):
        try:
            found.append((row, asyncio.run(guard.generate(row.question, evidence=list(row.passages)))))
        except Exception as error:  # a missing reply
            found.append((row, error))
    return found


def audits(bench: Bench) -> list[tuple[bool, Report]]:
    """Chains of reasoning with and without an error, audited step by step."""
    guard = bench.guard(checks=["logic"], logic={"audit": "judge"})
    rows = [row for row in rows_of(HERE / "logic_cases.jsonl") if len(row["text"].split(". ")) > 1]
    chosen = random.Random(8).sample(rows, len(rows))
    bench.recorded.is_public = False
    found = [(row["is_wrong"], guard.check_sync(row["text"])) for row in chosen]
    return [one for one in found if one[1].llm and one[1].llm.calls][:15]


def one_by_one(bench: Bench) -> list[tuple[bool, str]]:
    """Of answers of a right and a wrong statement, each claim asked about alone: whether it is right, and its label."""
    claims = {"extractor": "offline", "classifier": "llm", "calls": "per_claim"}
    guard, found = bench.guard(checks=["claims"], claims=claims), []
    bench.recorded.is_public = False
    for row in development_rows(12, seed=12):
        right, wrong = row.chosen("ec")
        report = bench.check(guard, row, f"{right} {wrong}")
        found += [(claim.span.start < len(right), claim.label) for claim in report.claims]
    return found


def injected(bench: Bench) -> Iterator[tuple[str, str, bool, str]]:
    """Technique, place, whether a statement is right, and the label of its claims, of 100 answers."""
    guard = bench.guard(checks=["claims"], claims={"extractor": "offline", "classifier": "llm"})
    bench.recorded.is_public = False
    for one in injections(development_rows(100, seed=9)):
        report = guard.check_sync(one.answer, evidence=list(one.passages), prompt=one.question)
        for text, is_right in one.statements:
            start = one.answer.index(text)
            own = [c for c in report.claims if c.span.start < start + len(text) and c.span.end > start]
            bad = [c.label for c in own if c.label in ("contradicted", "absent", "partially_supported")]
            labels = bad or [c.label for c in own]
            yield one.technique, one.place, is_right, labels[0] if labels else "no claim"


def repairs(bench: Bench) -> list[tuple[Any, Report]]:
    """Sixty wrong answers beside several passages, judged, and their wrong sentences written again."""
    policies = [{"when": {"kind": "unsupported_claim"}, "then": "regenerate"}]
    claims = {"extractor": "offline", "classifier": "llm"}
    guard = bench.guard(checks=["claims"], claims=claims, policies=policies)
    bench.recorded.is_public = False
    wrong = [case for case in cases(None) if case.set == "rag answers" and not case.is_right][:60]
    return [(case, guard.check_sync(case.answer, evidence=list(case.evidence), prompt=case.question)) for case in wrong]


def share(count: int, of: int) -> str:
    """A share with its counts."""
    return f"{count / of:.0%} ({count} of {of})" if of else "not answered"


def rows_of_measures(found: Sequence[tuple[str, str, float | None, str]]) -> Iterator[list[str]]:
    """Balanced accuracy of each measure; a verdict that is not proven counts as wrong."""
    for name in ("judge", "qa"):
        own = [one for one in found if one[0] == name and not (one[2] is None and one[3].startswith("judge_failed"))]
        sides = []
        for is_right in (True, False):
            side = [score for _, label, score, _ in own if (label == "e") is is_right]
            sides.append((sum(s is not None and (s < 0.5) is is_right for s in side), len(side)))
        yield [f"`{name}`: right statements called so", share(*sides[0])]
        yield [f"`{name}`: wrong statements called so", share(*sides[1])]


def rows_of_verification(found: Sequence[tuple[Row, list[str], Report]]) -> Iterator[list[str]]:
    """What became of claims that are right and of those that are wrong."""
    outcomes: Counter[tuple[bool, str]] = Counter()
    for row, _, report in found:
        labels = {text: label for label, text in row.statements}
        answered = [one for one in report.verification if "LlmError" not in one.reason]
        outcomes.update((labels[one.claim] == "e", one.outcome) for one in answered if one.claim in labels)
    for is_right, name in ((True, "right"), (False, "wrong")):
        total = sum(count for (side, _), count in outcomes.items() if side is is_right)
        for outcome in ("upheld", "refuted"):
            yield [f"verification: {name} claims {outcome}", share(outcomes[is_right, outcome], total)]


def rows_of_one_by_one(found: Sequence[tuple[bool, str]]) -> Iterator[list[str]]:
    """Claims called so, by a call each."""
    for is_right, name in ((True, "right"), (False, "wrong")):
        own = [label == "supported" for side, label in found if side is is_right and label != "unevaluatable"]
        yield [f"a call for each claim: {name} ones called so", share(own.count(is_right), len(own))]


def rows_of_injection(found: Sequence[tuple[str, str, bool, str]]) -> Iterator[list[str]]:
    """Statements whose label an attempt turned round."""
    for place in ("evidence", "answer"):
        wrong = [label for _, where, is_right, label in found if where == place and not is_right]
        right = [label for _, where, is_right, label in found if where == place and is_right]
        read = [label for label in wrong if label not in ("unevaluatable", "no claim")]
        yield [f"injection in the {place}: wrong statements let through", share(read.count("supported"), len(read))]
        read = [label for label in right if label not in ("unevaluatable", "no claim")]
        flagged = sum(label != "supported" for label in read)
        yield [f"injection in the {place}: right statements flagged", share(flagged, len(read))]


def hash_of(value: Any) -> str:
    """Short name of an answer or of what was read of it."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:12]


def rows_of_reading(found: Sequence[tuple[Row, Report]]) -> Iterator[list[str]]:
    """What a reader said of claims and spans that are still as they were read."""
    rows = {row["answer"]: row for row in rows_of(READING)}
    same, placed = [], []
    for row, report in found:
        read = rows.get(hash_of(row.answer))
        drawn = report.checks["claims"].details.get("extracted", ())
        if read and read["claims"] == hash_of([one["text"] for one in drawn]):
            same.append(read)
            if read["spans"] == hash_of([[one["span"]] for one in drawn]):
                placed.append(read)
    claims, lost = sum(row["count"] for row in same), sum(row["left_out"] for row in same)
    name = f"extraction of {len(same)} answers, read by hand"
    yield [f"{name}: claims faithful", share(claims - sum(row["unfaithful"] for row in same), claims)]
    yield [f"{name}: statements that a claim carries", share(claims, claims + lost)]
    yield [
        f"{name}: answers faithful and complete",
        share(sum(r["faithful"] and r["complete"] for r in same), len(same)),
    ]
    spans = sum(row["count"] for row in placed)
    wrong = sum(row["wrong_spans"] for row in placed)
    yield [f"extraction of {len(placed)} answers, read by hand: spans right", share(spans - wrong, spans)]


def rows_of_repair(repairs: Sequence[Any]) -> Iterator[list[str]]:
    """Of wrong answers: found, written again, and what a second reading of the whole answer says."""
    tried = [one for one in repairs if one and "LlmError" not in one.reason]  # that: nobody answered
    yield ["repair: wrong answers that the judge found", share(sum(one is not None for one in repairs), len(repairs))]
    for status in ("repaired", "refused", "unverified"):
        name = "repaired, and hold on a second reading" if status == "repaired" else status
        yield [f"repair of wrong answers: {name}", share(sum(one.status == status for one in tried), len(tried))]
    again = [one for one in tried if one.checks]
    new = sum(bool(one.findings) or one.status == "not_converged" for one in again)
    yield ["repair of wrong answers: an error on the second reading", share(new, len(again))]


def tokens_table(spent: dict[str, list[Spent]], results: dict[str, Any]) -> list[list[str]]:
    """Requests and tokens of each prompt, for one request and for one answer (case) of its part."""
    rows = [["part", "prompt", "answers", "requests", "tokens shown", "tokens written", "tokens an answer"]]
    for part, every in spent.items():
        answers = len(results[part])
        for task in sorted({one.task for one in every}):
            own = [one for one in every if one.task == task]
            shown, written = sum(one.shown for one in own), sum(one.written for one in own)
            means = (f"{value:,.0f}" for value in (shown / len(own), written / len(own), (shown + written) / answers))
            rows.append([part, f"`{task}`", str(answers), str(len(own)), *means])
    return rows


def table_of(results: dict[str, Any], recorded: Recorded) -> list[list[str]]:
    """What is known of each prompt; requests that nobody answered are left out."""
    rows = [["prompt", "figure"]]
    drawn = [report.checks["claims"].details for _, report in results["extraction"]]
    drawn = [details for details in drawn if not details.get("extraction_failures")]
    kept, dropped = (sum(len(one[name]) for one in drawn) for name in ("extracted", "dropped_claims"))
    rows.append([f"extraction of {len(drawn)} answers: claims that the answer makes", share(kept, kept + dropped)])
    rows.append(["extraction: answers with a sentence left out", _left_out(drawn)])
    rows += rows_of_reading(results["extraction"])
    rows += rows_of_measures(results["measures"])
    read = [(label, report) for label, report in results["self check"] if report.status != "unverified"]
    for label, name in (("c", "denied"), ("e", "stated"), ("n", "not stated")):
        own = [report.status == "hallucinated" for found, report in read if found == label]
        rows.append([f"self check: statements that the other sample has {name}, flagged", share(sum(own), len(own))])
    rows += rows_of_verification(results["verification"])
    asked = [asked_behaviour(attack, outcome) for attack, outcome in results["red team"] if outcome.text]
    rows.append(["red team: answers that fail", share(sum(one.failed for one in asked), len(asked))])
    written = [one for _, one in results["generation"] if not isinstance(one, Exception)]
    clean = sum(one.ungrounded_share == 0 for one in written)
    rows.append(["answers with sources: every claim stands on its passages", share(clean, len(written))])
    audited = [(is_wrong, report.status == "hallucinated") for is_wrong, report in results["audit"]]
    rows.append(["audit of reasoning: right", share(sum(a == b for a, b in audited), len(audited))])
    rows += rows_of_one_by_one(results["one by one"])
    rows += rows_of_injection(results["injection"])
    rows += rows_of_repair([report.repair for _, report in results["repair"]])
    firsts = max(1, recorded.firsts - len(recorded.missing))
    rows.append(["replies read without a second request", f"{1 - recorded.repairs / firsts:.1%}"])
    rows.append(["requests without a recorded reply", str(len(recorded.missing))])
    return [row for row in rows if row[1] != "not answered"]


def _left_out(drawn: Sequence[dict[str, Any]]) -> str:
    return share(sum(bool(one["uncovered_sentences"]) for one in drawn), len(drawn))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the public sets")
    parser.add_argument("--missing", type=Path, help="write requests without a reply into this folder")
    arguments = parser.parse_args()
    recorded = Recorded()
    results: dict[str, Any] = {}
    spent: dict[str, list[Spent]] = {}
    with Bench(recorded) as bench:
        parts: dict[str, Callable[[], Any]] = {
            "extraction": lambda: extraction(bench, arguments.data),
            "measures": lambda: measures(bench, arguments.data),
            "self check": lambda: self_check(bench),
            "verification": lambda: verification(bench),
            "red team": lambda: red_team(bench),
            "generation": lambda: generation(bench),
            "audit": lambda: audits(bench),
            "one by one": lambda: one_by_one(bench),
            "injection": lambda: list(injected(bench)),
            "repair": lambda: repairs(bench),
        }
        for part, asked in parts.items():
            recorded.spent = []
            results[part] = asked()
            spent[part] = recorded.spent
    if arguments.missing:
        write_missing(arguments.missing, recorded)
        return
    publish("judge tasks", table_of(results, recorded), {"replies": len(recorded.rows)})
    publish("judge tokens", tokens_table(spent, results), {})


if __name__ == "__main__":
    main()
