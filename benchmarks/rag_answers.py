"""The whole rail over answers as an assistant writes them, beside retrieved passages and beside data.

    python benchmarks/rag_answers.py [--nli FOLDER]

400 answers of one to four sentences beside 50 sets of passages about several things of one kind, half of the answers
wrong in exactly one thing, in nearly the same words as a right one. Written by a large language model that saw neither
the engine nor what it was trained on; a second reader judged each answer without its label, and no label was disputed.
And 539 answers of one to three sentences beside tables, CSV, JSON, YAML, cards, logs and invoices, likewise by two
writers and two blind readers (one sentence disputed, dropped). Neither was ever used to fit anything. Unverified
answers count as wrong. Prints every number as JSON and writes the tables into docs/benchmarks.md, the page
docs/how-good.md and its picture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tables import DOCS, publish, save_picture

from evidencerails import Guard
from evidencerails.evaluation.metrics import auroc, balanced_accuracy, bootstrap_interval
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.windows import content_terms
from evidencerails.settings.claims import GroundingSettings
from evidencerails.text.vega import Layer, axis, svg
from evidencerails.verdict.model import VerdictModel

CASES = Path(__file__).with_name("rag_answers.jsonl")
DATA_CASES = Path(__file__).with_name("data_answers.jsonl")

PAGE, PICTURE = DOCS / "how-good.md", DOCS / "images" / "budget-curve.svg"
BUDGETS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Of `max_false_warnings`."""


class Outcome(NamedTuple):
    """What became of one answer."""

    case: dict[str, Any]
    """The answer's row, with its `passages`."""
    group: str
    is_right: bool
    kind: str
    is_flagged: bool
    is_blocked: bool
    is_unverified: bool
    score: float
    is_flagged_anyway: bool
    """Whatever the score: unverified, or for something else than an unsupported sentence."""
    lexical_overlap: float
    characters: int


def outcomes_of(rows: Sequence[dict[str, Any]], guard: Guard) -> list[Outcome]:
    """Each answer through the engine, with its question."""
    found = []
    for row in rows:
        evidence = " ".join(row["passages"])
        for case in row["answers"]:
            report = guard.check_sync(case["answer"], evidence=row["passages"], prompt=case["question"])
            terms = content_terms(case["answer"])
            score = report.hallucination_score
            found.append(
                Outcome(
                    {**case, "passages": row["passages"]},
                    row["id"],
                    case["right"],
                    case["kind"],
                    report.decision != "allow",
                    report.decision in ("block", "raise"),
                    report.status == "unverified",
                    0.5 if score is None else score,
                    score is None or any(one.kind != "unsupported_claim" for one in report.findings),
                    len(terms & content_terms(evidence)) / max(1, len(terms)),
                    len(case["answer"]),
                )
            )
    return found


def share(outcomes: Sequence[Outcome], name: str) -> float:
    """Share of the outcomes of which something is true."""
    return sum(getattr(one, name) for one in outcomes) / max(1, len(outcomes))


def interval(outcomes: Sequence[Outcome], scores: Sequence[float], metric: Any) -> str:
    """A metric with its 95 % interval; whole sets of passages are drawn."""
    wrong = [not one.is_right for one in outcomes]
    found = bootstrap_interval(wrong, list(scores), metric, groups=[one.group for one in outcomes])
    return f"{found.value:.3f} ({found.low:.3f}–{found.high:.3f})"


def example(outcomes: Sequence[Outcome], is_flagged: bool) -> list[str]:
    """The shortest answer with this outcome, verbatim, with what is wrong with it; nothing if there is none."""
    found = sorted((one for one in outcomes if one.is_flagged == is_flagged), key=lambda one: one.characters)
    if not found:
        return []
    case = found[0].case
    why = f" ({case['why']})" if case["why"] else ""
    word = "flagged" if is_flagged else "not flagged"
    return [f"- {word}: \u201c{' '.join(case['answer'].split())}\u201d{why}"]


class Budget(NamedTuple):
    """What a share of correct answers that may be flagged gives."""

    max_false_warnings: float
    right_flagged: float
    wrong_caught: float


def budgets_of(outcomes: Sequence[Outcome], model: VerdictModel) -> list[Budget]:
    """The thresholds of several budgets on answers that were read once."""
    found = []
    for allowed in BUDGETS:
        flags = [one.is_flagged_anyway or one.score >= model.warn_from(allowed) for one in outcomes]
        sides = (
            [flag for flag, one in zip(flags, outcomes, strict=True) if one.is_right is side] for side in (True, False)
        )
        found.append(Budget(allowed, *(sum(side) / len(side) for side in sides)))
    return found


def draw(curves: Mapping[str, Sequence[Budget]]) -> None:
    """What is caught over what is flagged wrongly, a line for each set."""
    encoding = {
        "x": axis("right_flagged", "right answers flagged", domain=(0, 0.4), format=".0%"),
        "y": axis("wrong_caught", "wrong answers caught", domain=(0, 1), format=".0%"),
        "order": {"field": "max_false_warnings"},
    }
    layers = [
        Layer(name, f"var(--c{n})", {"type": "line", "point": True}, [one._asdict() for one in points], encoding)
        for n, (name, points) in enumerate(curves.items())
    ]
    default = GroundingSettings().max_false_warnings
    own = [one._asdict() for points in curves.values() for one in points if one.max_false_warnings == default]
    layers.append(Layer("default", "var(--text)", {"type": "point", "size": 140, "filled": False}, own, encoding))
    title = "Wrong answers caught over right answers flagged, by max_false_warnings"
    save_picture(svg(title, layers, width=720, height=380), PICTURE)


def write_page(outcomes: Sequence[Outcome], beside_data: Sequence[Outcome]) -> None:
    """docs/how-good.md: what is caught and what is flagged wrongly, by budget and by kind, with examples verbatim."""
    model = VerdictModel.load()
    curves = {"beside passages": budgets_of(outcomes, model), "beside data": budgets_of(beside_data, model)}
    draw(curves)
    right, wrong = ([one for one in outcomes if one.is_right is side] for side in (True, False))
    right_data, wrong_data = ([one for one in beside_data if one.is_right is side] for side in (True, False))
    lines = [
        "# How good is it?",
        "",
        f"Out of the box, without an LLM judge: of {len(right)} correct answers with two to four retrieved",
        f"passages {share(right, 'is_flagged'):.0%} are warned about or blocked ({share(right, 'is_blocked'):.0%} are",
        f"blocked), and of {len(wrong)} answers with one error {share(wrong, 'is_flagged'):.0%} are",
        "caught. The answers were written to be hard: a wrong one is worded nearly like a correct one.",
        "",
        f"Beside data (tables, CSV, JSON, YAML, cards, logs) it is weaker: {share(right_data, 'is_flagged'):.0%} of"
        f" {len(right_data)} correct answers are flagged,",
        f"and {share(wrong_data, 'is_flagged'):.0%} of {len(wrong_data)} wrong ones are caught. Other sets",
        "and trivial baselines are in the [benchmarks](benchmarks.md#rag-answers) and the [model card](model-card.md).",
        "",
        "`python benchmarks/rag_answers.py` writes this page; its examples are the shortest of each kind.",
        "",
        "## Choose your budget",
        "",
        "`grounding: {max_false_warnings: 0.2}` allows more false warnings and catches more; blocks have their own",
        "budget, `max_false_blocks`. `evidencerails calibrate` fits both to your own answers. With a large model that",
        "[judges the unsure claims](claims.md#with-a-model) nearly all errors are caught at hardly any false warnings.",
        "",
        "![Wrong answers caught over right answers flagged](images/budget-curve.svg)",
        "",
        "| `max_false_warnings` | right flagged | wrong caught | beside data: right flagged | wrong caught |",
        "|---|---|---|---|---|",
    ]
    default = GroundingSettings().max_false_warnings
    for prose, data in zip(*curves.values(), strict=True):
        shares = (prose.right_flagged, prose.wrong_caught, data.right_flagged, data.wrong_caught)
        name = f"{prose.max_false_warnings:g}" + (" (default)" if prose.max_false_warnings == default else "")
        lines.append(" | ".join([f"| {name}", *(f"{share:.0%}" for share in shares)]) + " |")
    for title, some, order in (
        ("Correct answers that are flagged", right, (True, False)),
        ("Wrong answers that are caught, and missed", wrong, (True, False)),
    ):
        lines += ["", f"## {title}"]
        for kind in sorted({one.kind for one in some}):
            own = [one for one in some if one.kind == kind]
            lines += ["", f"**{kind}**: {share(own, 'is_flagged'):.0%} of {len(own)} flagged", ""]
            lines += [line for is_flagged in order for line in example(own, is_flagged)]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def publish_outcomes(name: str, kinds_name: str, outcomes: Sequence[Outcome]) -> None:
    """The table of a set and that of its kinds."""
    right = [one for one in outcomes if one.is_right]
    wrong = [one for one in outcomes if not one.is_right]
    flags = [float(one.is_flagged) for one in outcomes]
    data = {
        "answers": len(outcomes),
        "right_flagged": share(right, "is_flagged"),
        "right_blocked": share(right, "is_blocked"),
        "wrong_caught": share(wrong, "is_flagged"),
        "wrong_blocked": share(wrong, "is_blocked"),
        "unverified": share(outcomes, "is_unverified"),
        "auroc": interval(outcomes, [one.score for one in outcomes], auroc),
        "balanced_accuracy": interval(outcomes, flags, balanced_accuracy),
        "auroc_overlap": interval(outcomes, [-one.lexical_overlap for one in outcomes], auroc),
        "auroc_length": interval(outcomes, [one.characters for one in outcomes], auroc),
    }
    percent = [f"{data[name]:.0%}" for name in ("right_flagged", "right_blocked", "wrong_caught", "wrong_blocked")]
    head = ["method", "right flagged", "right blocked", "wrong caught", "wrong blocked", "bal. acc.", "AUROC"]
    table = [
        head,
        ["grounding rail", *percent, data["balanced_accuracy"], data["auroc"]],
        ["words that the passages lack, alone", "", "", "", "", "", data["auroc_overlap"]],
        ["length of the answer, alone", "", "", "", "", "", data["auroc_length"]],
    ]
    publish(name, table, data)
    kinds = [
        [kind, side, str(len(own)), f"{share(own, 'is_flagged'):.0%}", f"{share(own, 'is_blocked'):.0%}"]
        for side, some in (("right", right), ("wrong", wrong))
        for kind in sorted({one.kind for one in some})
        if (own := [one for one in some if one.kind == kind])
    ]
    publish(kinds_name, [["kind", "answers", "n", "flagged", "blocked"], *kinds], {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nli", type=Path, help="folder of another NLI model")
    folder = parser.parse_args().nli
    guard = Guard({"checks": ["grounding"]}, nli=EmbeddedModel(folder))
    prose, data = (
        outcomes_of([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()], guard)
        for path in (CASES, DATA_CASES)
    )
    publish_outcomes("rag_answers", "rag_answer_kinds", prose)
    publish_outcomes("data_answers", "data_answer_kinds", data)
    if folder is None:
        write_page(prose, data)


if __name__ == "__main__":
    main()
