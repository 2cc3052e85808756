"""What `evidencerails check` runs with: its options, a settings file and the environment come in, settings go out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencerails.cli.common import CliError, names_in
from evidencerails.cli.terminal import say
from evidencerails.settings.environment import CHECK_VARIABLES, JUDGE_MODEL, variable

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.exchange import Exchange

ENVIRONMENT = "From the environment, where --config does not set it: " + "; ".join(
    f"{name} ({key})" for name, key in CHECK_VARIABLES.items()
)
DECIDERS = {("nli",): "offline", ("judge",): "llm", ("judge", "nli"): "auto"}
"""Methods that decide on claims -> `claims.classifier`."""
NO_MODEL = (
    f"a judge needs a model: give --model NAME, the environment variable {JUDGE_MODEL}, or llm.judge in the settings"
)


def settings_of(
    config: Path | None, methods: Sequence[str], exchange: Exchange, *, cascade: bool, model: str | None
) -> GuardConfig:
    """The settings of one check: what an option says, else the file, else the environment, else the defaults.

    Without a file, checks and evidence, what else is given decides which checks run.

    Raises:
        CliError: a judge is asked for, and no model is named.
        SettingsError: a method does not exist, or a setting is not valid.
    """
    from evidencerails.config import CHECKS
    from evidencerails.evaluation.methods import known
    from evidencerails.measures.registry import JUDGES

    if methods and not names_in(methods):
        raise CliError("--method names no method; give checks or measures, as in --method claims,ngram")
    names = (*known(names_in(methods)), *(("nli", "judge") if cascade else ()))
    asks_judge = not {*names}.isdisjoint(JUDGES)
    settings = _with_model(_loaded(config), model, asks_judge=asks_judge)
    checks = [name for name in names if name in CHECKS]
    if not names and config is None and not exchange.evidence:
        checks = _possible_checks(exchange)
    checks = checks or [*settings.checks]
    deciders = tuple(sorted({*names} & {"nli", "judge"}))
    claims = settings.claims
    if deciders:
        checks = [*checks, "claims"]
        claims = claims.model_copy(update={"classifier": DECIDERS[deciders]})
    beside = [name for name in names if name not in (*CHECKS, *deciders)] or settings.scoring.measures
    scoring = settings.scoring.model_copy(update={"measures": tuple(dict.fromkeys(beside))})
    return settings.model_copy(update={"checks": tuple(dict.fromkeys(checks)), "claims": claims, "scoring": scoring})


def _possible_checks(exchange: Exchange) -> list[str]:
    given = {
        "consistency": exchange.samples,
        "structure": exchange.response_schema is not None,
        "tools": exchange.tool_calls,
    }
    return [name for name, is_given in given.items() if is_given]


def _loaded(config: Path | None) -> GuardConfig:
    """The settings of the file, with numbers of the environment where it has none."""
    from evidencerails.config import GuardConfig
    from evidencerails.errors import SettingsError
    from evidencerails.settings.reading import read_settings

    GuardConfig.load(config)  # what is wrong with the file is said in its own words
    settings = read_settings(config) if config else {}
    used = [name for name, key in CHECK_VARIABLES.items() if name != JUDGE_MODEL and _filled(settings, name, key)]
    try:
        found = GuardConfig.load(settings)
    except SettingsError as error:
        raise SettingsError(f"{error}; from the environment: {', '.join(used)}") from None
    if used:
        say(f"settings from the environment: {', '.join(used)}")
    return found


def _filled(settings: dict[str, Any], name: str, key: str) -> bool:
    """Put a variable's value into the settings, unless they have one; True if it is used."""
    value, place = variable(name), settings
    *sections, last = key.split(".")
    for section in sections:
        place[section] = place = dict(place.get(section) or {})
    if not value or last in place:
        return False
    place[last] = value
    return True


def _with_model(settings: GuardConfig, model: str | None, *, asks_judge: bool) -> GuardConfig:
    """The settings with the judge's model; the environment's only where a judge is asked for, since a judge is sent the
    answer and its evidence."""
    from evidencerails.config import LlmEndpoint

    llm = settings.llm
    judge = llm.judge or LlmEndpoint(**{name: getattr(llm, name) for name in LlmEndpoint.model_fields})
    if model is None and asks_judge and not judge.model:
        model = variable(JUDGE_MODEL)
    if asks_judge and not (model or judge.model):
        raise CliError(NO_MODEL)
    if model is None:
        return settings
    named = llm.model_copy(update={"judge": judge.model_copy(update={"model": model})})
    return settings.model_copy(update={"llm": named})
