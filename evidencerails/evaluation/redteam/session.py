"""One run of the red team, from evidence to attacks and results."""

from __future__ import annotations

import datetime
import platform
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evidencerails.config import GuardConfig
from evidencerails.errors import InputError
from evidencerails.evaluation.redteam import history as past
from evidencerails.evaluation.redteam import questions
from evidencerails.evaluation.redteam.attacks import CATEGORIES, KINDS, Attack, Category
from evidencerails.evaluation.redteam.corpus import Corpus, Document
from evidencerails.evaluation.redteam.history import together
from evidencerails.evaluation.redteam.scoring import attack_score, scores
from evidencerails.evaluation.redteam.targets import Result, Shot, Target, attack_all, shots_wanted
from evidencerails.llm.prompts import PromptLibrary
from evidencerails.version import __version__

Generator = Callable[[Corpus, int, random.Random], Iterator[Attack]]
GENERATORS: Mapping[Category, Generator] = {name: getattr(questions, name) for name in CATEGORIES}
"""The maker of each category's attacks, which has the category's name."""


class Generated(NamedTuple):
    """The attacks, and the categories that the evidence gives none of, with the reason."""

    attacks: list[Attack]
    missing: dict[Category, str]


def attacks_from(
    corpus: Corpus, per_category: int, *, categories: Sequence[Category] = CATEGORIES, seed: int = 0
) -> Generated:
    """At most `per_category` attacks of each category. The same evidence, number and seed give the same attacks."""
    attacks: list[Attack] = []
    missing: dict[Category, str] = {}
    for category in categories:
        rng = random.Random(f"{seed}:{category}")  # apart, so that one category does not change with another's number
        made = list({one.id: one for one in GENERATORS[category](corpus, per_category, rng)}.values())
        if not made:
            needed = KINDS[category].needs
            missing[category] = f"the evidence has no usable one: it takes {needed} that can be understood by itself"
        attacks += made
    return Generated(attacks, missing)


MAX_SHOWN = 600
"""Characters of an answer in the results; the attack's id finds the whole one."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    documents: Sequence[Document] = ()
    static: Sequence[Attack] = ()
    target: Target
    name: str
    """Of the target: runs against the same one are compared."""
    config: GuardConfig
    per_category: int = 3
    categories: Sequence[Category] = CATEGORIES
    seed: int = 0
    history: Path | None = None
    max_drop: float = 0.05
    only_changes: bool = False
    """Leave out the attacks over documents and settings that are as they were in the last run."""
    change_log: Sequence[str] = field(default=())
    """Changes of the system that people wrote down since the last run."""


class Run(NamedTuple):
    results: list[Result]
    data: dict[str, Any]
    """JSON-ready: what `--json` writes."""
    fall: past.Fall | None


async def run(
    plan: Plan, *, on_start: Callable[[int], None] = lambda total: None, on_shot: Callable[[], None] = lambda: None
) -> Run:
    """Generate, attack, score, compare with the last run, and write the history. `InputError`: there is nothing to
    attack with."""
    entries = past.entries(plan.history) if plan.history is not None else []
    documents = {one.name: past.fingerprint(one.text) for one in plan.documents}
    library = PromptLibrary.load()
    versions = {task: library.version(task) for task in library.tasks}
    settings = past.settings_fingerprints(plan.config, versions, __version__)
    changes = past.changes_since(past.last_of(entries, plan.name), documents, settings)
    made, missing = _dynamic(plan, changes) if plan.documents else ([], {})
    attacks = together([one for one in plan.static if one.category in plan.categories], made)
    if not attacks and plan.only_changes and plan.documents:
        raise InputError("nothing has changed since a last run in --history; leave --only-changes out to attack all")
    if not attacks:
        raise InputError(
            "there is nothing to attack with: give --evidence with sentences that state a year, a number or a name"
        )
    on_start(shots_wanted(attacks, plan.target))
    results = await attack_all(attacks, plan.target, on_shot=on_shot)
    found = scores(results, missing)
    by_attack = {one.attack.id: value for one in results if (value := attack_score(one)) is not None}
    # A run that was an alarm itself is no baseline: a score that fell stays an alarm until it is back.
    baseline = past.last_of([one for one in entries if not one["alarm"]], plan.name)
    fall = past.fall_of(found, by_attack, baseline, plan.max_drop)
    about = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "version": __version__,
        "target": plan.name,
        "kind": plan.target.kind,
        "checks": list(plan.target.checks),
        "asks_a_model": plan.target.can_be_asked,
        "seed": plan.seed,
        "per_category": plan.per_category,
        "documents": documents,
        "settings": settings,
        "changed": changes.described(),
        "change_log": list(plan.change_log),
        "not_generated": dict(missing),
    }
    failures = [_failure(result, shot) for result in results for shot in result.shots if shot.behaviour.failed]
    regression = None if fall is None else {**fall._asdict(), "message": fall.described()}
    if plan.history is not None:
        with plan.history.open("a", encoding="utf-8") as handle:
            handle.write(past.entry_of(about, found, by_attack, alarm=fall is not None) + "\n")
    return Run(results, {"run": about, **found, "failures": failures, "regression": regression}, fall)


def _dynamic(plan: Plan, changes: past.Changes) -> tuple[list[Attack], dict[Category, str]]:
    """Attacks over all of the evidence, and more over what changed."""
    corpus, count = Corpus.of(plan.documents), plan.per_category
    made, missing = attacks_from(corpus, count, categories=plan.categories, seed=plan.seed)
    changed = [name for name in changes.categories if name in plan.categories]
    aimed = [
        *attacks_from(corpus.only(changes.documents), count, categories=plan.categories, seed=plan.seed).attacks,
        *attacks_from(corpus, count, categories=changed, seed=plan.seed + 1).attacks,
    ]
    return together(aimed if plan.only_changes else [*made, *aimed]), missing


def _failure(result: Result, shot: Shot) -> dict[str, Any]:
    attack, outcome = result.attack, shot.outcome
    return {
        "attack": attack.id,
        "category": attack.category,
        "origin": attack.origin,
        "document": attack.document,
        "what": shot.behaviour.description,
        "query": attack.query[:MAX_SHOWN],
        "answer": (shot.probe.answer if shot.probe is not None else outcome.text)[:MAX_SHOWN],
        "reason": outcome.reason[:MAX_SHOWN],
        "score": outcome.score,
    }
