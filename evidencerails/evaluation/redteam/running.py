"""Attacks on a target, a bounded number at once; whatever goes wrong with one is an outcome of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evidencerails.errors import reason_of
from evidencerails.evaluation.redteam.attacks import Attack, Probe
from evidencerails.evaluation.redteam.outcomes import Behaviour, Outcome, asked_behaviour, planted_behaviour
from evidencerails.evaluation.redteam.targets import Target


class Shot(NamedTuple):
    """One answer of an attack and what became of it; `probe` is None where the model was asked."""

    probe: Probe | None
    outcome: Outcome
    behaviour: Behaviour


class Result(NamedTuple):
    """What became of an attack."""

    attack: Attack
    shots: tuple[Shot, ...]
    not_attempted: str = ""
    """Why nothing was tried; empty if something was."""
    seconds: float = 0.0


def shots_wanted(attacks: Sequence[Attack], target: Target) -> int:
    """How many answers are tried in all."""
    tried = [attack for attack in attacks if not why_not(attack, target)]
    return sum(len(probes_for(attack, target)) + int(target.can_be_asked) for attack in tried)


def probes_for(attack: Attack, target: Target) -> list[Probe]:
    """The ready answers that mean something on a target."""
    return [probe for probe in attack.probes if not (probe.without_evidence and target.brings_evidence)]


def why_not(attack: Attack, target: Target) -> str:
    """Why an attack cannot be tried on a target; empty if it can."""
    if target.checks and not set(attack.checks) & set(target.checks):
        return f"needs {' or '.join(attack.checks)}, which the {target.kind} does not run"
    return ""


async def attack_all(
    attacks: Sequence[Attack], target: Target, *, on_shot: Callable[[], None] = lambda: None
) -> list[Result]:
    """Try all attacks; results in their order. `on_shot` is called after each answer."""
    slots = asyncio.Semaphore(target.concurrency)

    async def one(attack: Attack) -> Result:
        reason = why_not(attack, target)
        if reason:
            return Result(attack, (), reason)
        async with slots:
            started = time.perf_counter()
            shots = []
            for probe in probes_for(attack, target):
                outcome = await _survived(target.planted(attack, probe))
                shots.append(Shot(probe, outcome, planted_behaviour(probe, outcome)))
                on_shot()
            if target.can_be_asked:
                outcome = await _survived(target.asked(attack))
                shots.append(Shot(None, outcome, asked_behaviour(attack, outcome)))
                on_shot()
            return Result(attack, tuple(shots), seconds=time.perf_counter() - started)

    return list(await asyncio.gather(*(one(attack) for attack in attacks)))


async def _survived(shot: object) -> Outcome:
    try:
        return await shot  # type: ignore[misc, no-any-return]
    except Exception as error:  # boundary: one attack that breaks something must not end the others
        return Outcome("failed", reason_of(error))
