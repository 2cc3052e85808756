"""Files of the red team: runs over time, with what changed since the last one and whether the score has fallen; suites
of attacks, the one that ships and the user's own under version control."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from evidencerails.config import GuardConfig
from evidencerails.errors import InputError
from evidencerails.evaluation.redteam.attacks import CATEGORIES, Attack, Category
from evidencerails.evaluation.redteam.targets import Result

SCHEMA = "evidencerails-redteam-1"
SECTIONS: Mapping[str, tuple[Category, ...]] = {
    "citations": ("citation_manipulation",),
    "structure": ("format_coercion",),
    "logic": ("compositional_chains",),
    "evidence": ("context_poisoning", "scale_stress", "evidence_padding"),
    "llm": ("judge_injection", "verdict_spoofing", "authority_impersonation"),
    "prompts": ("judge_injection", "verdict_spoofing"),
    "abstention": ("knowledge_boundary", "entity_substitution"),
}
"""Attacks that a change of a section of the settings calls for; a change of any other section calls for all."""
WITHOUT_EFFECT = ("store", "escalation", "telemetry", "monitoring", "service", "expose", "redaction")


class Changes(NamedTuple):
    """What is not as it was in the last run."""

    documents: tuple[str, ...] = ()
    """New and changed ones."""
    sections: tuple[str, ...] = ()
    """Sections of the settings, `prompts`, and `version` of the program."""

    @property
    def categories(self) -> tuple[Category, ...]:
        """The attacks that the changed settings call for, in their order."""
        wanted = {category for name in self.sections for category in SECTIONS.get(name, CATEGORIES)}
        return tuple(category for category in CATEGORIES if category in wanted)

    def described(self) -> str:
        """In words; empty if nothing changed."""
        parts = (("documents", self.documents), ("settings", self.sections))
        return "; ".join(f"{what} {', '.join(names)}" for what, names in parts if names)


class Fall(NamedTuple):
    """The score has fallen by more than is allowed."""

    score: float
    baseline: float
    degraded: tuple[str, ...]
    """Categories that fell by more than is allowed."""
    worse: int
    """Attacks of both runs that do worse now."""
    better: int
    p: float | None
    """Sign test over the attacks of both runs; None if none differs."""

    def described(self) -> str:
        where = f"; degraded: {', '.join(self.degraded)}" if self.degraded else ""
        chance = "" if self.p is None else f" (sign test p = {self.p:.4f})"
        return (
            f"the robustness score has fallen from {self.baseline:.3f} to {self.score:.3f}{where}; of the attacks of "
            f"both runs {self.worse} do worse and {self.better} better{chance}"
        )


def settings_fingerprints(config: GuardConfig, prompts: Mapping[str, str], version: str) -> dict[str, str]:
    """A hash of each section of the settings that can change a verdict, of the prompts, and the program's version."""
    data = config.model_dump(mode="json", exclude=set(WITHOUT_EFFECT))
    found = {name: fingerprint(json.dumps(value, sort_keys=True, default=str)) for name, value in data.items()}
    return {**found, "prompts": fingerprint(json.dumps(dict(prompts), sort_keys=True)), "version": version}


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def entries(path: Path) -> list[dict[str, Any]]:
    """The runs in a history file, oldest first; none if there is no file. `InputError`: a line is no run."""
    found = []
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or entry.get("schema") != SCHEMA:
            raise InputError(f"{path.name}:{number}: not a run of the red team; give a file that --history wrote")
        found.append(entry)
    return found


def last_of(history: Sequence[Mapping[str, Any]], target: str) -> Mapping[str, Any] | None:
    return next((one for one in reversed(history) if one["target"] == target), None)


def changes_since(last: Mapping[str, Any] | None, documents: Mapping[str, str], settings: Mapping[str, str]) -> Changes:
    if last is None:
        return Changes()
    return Changes(
        tuple(name for name, value in documents.items() if last["documents"].get(name) != value),
        tuple(name for name, value in settings.items() if last["settings"].get(name, value) != value),
    )


def fall_of(
    scores: Mapping[str, Any], attacks: Mapping[str, float], baseline: Mapping[str, Any] | None, max_drop: float
) -> Fall | None:
    """The fall from a baseline; None if there is none, or it is not more than `max_drop`."""
    now, before = scores["score"]["value"], (baseline or {}).get("score")
    if baseline is None or now is None or before is None or now >= before - max_drop:
        return None
    degraded = [
        name
        for name, one in scores["categories"].items()
        if one["attacks"] and (one["value"] or 0.0) < (baseline["categories"].get(name) or 0.0) - max_drop
    ]
    common = [(attacks[name], value) for name, value in baseline["attacks"].items() if name in attacks]
    worse, better = sum(here < there for here, there in common), sum(here > there for here, there in common)
    return Fall(now, before, tuple(degraded), worse, better, sign_test(worse, better))


def sign_test(worse: int, better: int) -> float | None:
    """Two-sided p-value of so uneven a split by chance; None if there is nothing to split.

    Exact, and written out since this command works without the extra that brings SciPy.
    """
    total = worse + better
    tail = sum(math.comb(total, count) for count in range(min(worse, better) + 1))
    return min(1.0, 2 * tail / 2**total) if total else None


def entry_of(run: Mapping[str, Any], scores: Mapping[str, Any], attacks: Mapping[str, float], *, alarm: bool) -> str:
    """The line that the history keeps of a run."""
    kept = {name: run[name] for name in ("date", "version", "target", "seed", "documents", "settings")}
    categories = {name: one["value"] for name, one in scores["categories"].items()}
    score = scores["score"]["value"]
    return json.dumps({"schema": SCHEMA, **kept, "score": score, "categories": categories, "attacks": dict(attacks),
                       "alarm": alarm})  # fmt: skip


SHIPPED = Path(__file__).resolve().parent / "suite.jsonl"
"""Attacks over made-up documents, the same for everybody and in every run."""


def read_suite(path: Path) -> list[Attack]:
    """The attacks of a file, each as static. `InputError`: the file cannot be read, or a line of it is no attack; the
    message has the line's number."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read the suite {str(path)!r}: {cause}; give a file that --save-suite wrote") from None
    attacks = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            attacks.append(Attack.model_validate_json(line).model_copy(update={"origin": "static"}))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "line"
            raise InputError(f"{path.name}:{number}: not an attack: {place}: {first['msg']}") from None
    return attacks


def write_suite(path: Path, attacks: Iterable[Attack]) -> None:
    path.write_text("".join(_line(attack) for attack in attacks), encoding="utf-8")


def _line(attack: Attack) -> str:
    return json.dumps(attack.model_dump(mode="json", exclude_defaults=True), ensure_ascii=True) + "\n"


def together(*suites: Sequence[Attack]) -> list[Attack]:
    """All attacks, each id once; of equal ones the first stays."""
    found: dict[str, Attack] = {}
    for suite in suites:
        for attack in suite:
            found.setdefault(attack.id, attack)
    return list(found.values())


def new_failures(results: Sequence[Result]) -> list[Attack]:
    """Attacks made in this run that succeeded: candidates for the static suite, once a person has looked at them."""
    return [
        one.attack
        for one in results
        if one.attack.origin == "dynamic" and any(shot.behaviour.failed for shot in one.shots)
    ]


def propose(path: Path, attacks: Sequence[Attack]) -> int:
    """Append the attacks that the file does not have yet; how many there were of them. `InputError`: the file is there
    and is no suite."""
    known = {attack.id for attack in read_suite(path)} if path.exists() else set()
    fresh = [attack for attack in attacks if attack.id not in known]
    with path.open("a", encoding="utf-8") as handle:
        handle.writelines(_line(attack) for attack in fresh)
    return len(fresh)
