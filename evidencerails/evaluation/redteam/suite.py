"""Files of attacks: the suite that ships, the user's own under version control, and new failures proposed for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from evidencerails.errors import InputError
from evidencerails.evaluation.redteam.attacks import Attack
from evidencerails.evaluation.redteam.targets import Result

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
