"""The one schema of the settings: what stands under `custom_data: groundrails:` and what `Guard` takes.

Every key has a default; an unknown key, a wrong value or a value of a later version is a `SettingsError` at load
that names the key, the value and the nearest valid choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import yaml
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator

from groundrails.config_base import Section
from groundrails.config_calibration import CalibrationSettings
from groundrails.config_citations import CitationSettings, GranularitySettings, RootCauseSettings
from groundrails.config_escalation import EscalationSettings
from groundrails.config_knowledge import KnowledgeSettings
from groundrails.config_logic import LogicSettings
from groundrails.config_mitigation import (
    AbstentionSettings,
    AnnotationSettings,
    GenerationSettings,
    QualityGateSettings,
    RegenerationSettings,
    SeveritySettings,
    VerificationSettings,
)
from groundrails.config_monitoring import MonitoringSettings
from groundrails.config_problems import nearest, problems
from groundrails.config_service import ServiceSettings
from groundrails.config_store import StoreSettings
from groundrails.config_structure import StructureSettings
from groundrails.config_telemetry import TelemetrySettings
from groundrails.config_tools import ToolsSettings
from groundrails.config_violations import all_violations
from groundrails.errors import SettingsError
from groundrails.report import (
    Category,
    Decision,
    ErrorType,
    FindingKind,
    Label,
    Origin,
    Redaction,
    Severity,
    Verified,
)

CHECKS = ("citations", "claims", "consistency", "grounding", "knowledge", "logic", "structure", "tools")
"""Checks of this version, by the name used in `checks:`."""
FINDERS = (*CHECKS, "verification")
"""What a finding may name as its check: the chain of verification finds things without being a check to run."""

MeasureName = Literal[
    "nli",
    "judge",
    "qa",
    "bertscore",
    "ngram",
    "embedding",
    "semantic_entropy",
    "self_consistency",
    "logprobs",
]
MEASURES: tuple[MeasureName, ...] = get_args(MeasureName)
DEFAULT_MEASURE_WEIGHTS: Mapping[MeasureName, float] = {
    "judge": 0.76,
    "nli": 0.72,
    "self_consistency": 0.72,
    "logprobs": 0.54,
    "ngram": 0.47,
    "qa": 0.42,
    "bertscore": 0.33,
    "semantic_entropy": 0.33,
    "embedding": 0.2,
}
"""How far each is above chance on WikiBio: (AUC-PR NonFact - 72.96) / 27.04 of SelfCheckGPT's table 2. Its QA is
another method than ours; self-consistency stands as NLI, on which it rests; the paper has no row for semantic
entropy (put beside BERTScore) and embedding (below it: one vector tells less than its tokens)."""

SCHEMA_VERSION = 1
"""Of these settings; raised when a key moves, and `groundrails migrate` moves it."""
APP_KEYS = ("models", "rails", "import_paths", "custom_data", "prompts")
"""Keys by which a file is known as an app's config, not as settings of ours."""
EvidencePlace = Literal["variable", "relevant_chunks", "tool_messages", "knowledge_base", "system_context"]
OnUnverified = Literal["allow", "warn", "escalate", "block", "raise"]
Activation = Literal["per_response", "always", "shadow"]


def _http_url(value: str | None) -> str | None:
    if value is not None and not (value.startswith(("http://", "https://")) and urlsplit(value).hostname):
        raise ValueError("expected a URL such as http://localhost:8080")
    return value


class EvidenceSettings(Section):
    """Where evidence comes from inside NeMo: the first place that has any wins, and the report names it."""

    places: tuple[EvidencePlace, ...] = Field(
        default=("variable", "relevant_chunks", "tool_messages", "knowledge_base", "system_context"), alias="from"
    )
    """Places to look in, in this order."""
    variable: str = "evidence"
    """Context variable of the place `variable`: set `$evidence` in a flow or a context message."""

    @field_validator("variable")
    @classmethod
    def _without_dollar(cls, value: str) -> str:
        name = value.removeprefix("$")  # as it is written in a flow
        if not name.isidentifier():
            raise ValueError("expected the name of a context variable")
        return name


class NliSettings(Section):
    """Which NLI model scores the pairs, and how it is run."""

    backend: Literal["embedded", "transformers", "remote"] = "embedded"
    """The model inside the wheel, a Hugging Face one (extra `transformers`), or a server."""
    model: str | None = None
    """Hugging Face id or local path (backend `transformers`)."""
    url: str | None = None
    """Base URL of a text-embeddings-inference server (backend `remote`)."""
    api_key_env: str | None = None
    """Environment variable with the key of that server."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Seconds to wait for that server."""
    threads: int | None = Field(default=None, ge=1)
    """Threads of the embedded model; None lets it use the processors the process may run on."""
    batch_size: int = Field(default=32, ge=1)
    """Pairs scored at once; pairs of concurrent requests share a batch."""
    languages: tuple[str, ...] = ("en",)
    """ISO 639-1 codes the backend knows; `("*",)` for a multilingual model. Text in others is unverified."""

    @field_validator("url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        return _http_url(value)

    @model_validator(mode="after")
    def _backend_has_its_address(self) -> NliSettings:
        needed = {"transformers": "model", "remote": "url"}.get(self.backend)
        if needed and getattr(self, needed) is None:
            raise ValueError(f"backend {self.backend!r} needs the key {needed!r}")
        return self


class BudgetSettings(Section):
    """Upper bounds of the LLM work for one response."""

    calls: int = Field(default=40, ge=0)
    """Requests."""
    tokens: int = Field(default=100_000, ge=0)
    """Tokens, prompt and completion together."""
    seconds: float = Field(default=60.0, gt=0)
    """Seconds of waiting."""


class LlmEndpoint(Section):
    """One OpenAI-compatible model."""

    model: str | None = None
    """Name of the model; without it and `base_url` there is none outside NeMo."""
    base_url: str | None = None
    """Base URL of an OpenAI-compatible API."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable with the key."""
    api_key: SecretStr | None = None
    """The key itself; never printed."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Seconds to wait for a reply."""

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        return _http_url(value)


class CacheSettings(Section):
    """Where replies of judges are kept, so that the same question is not paid for twice."""

    backend: Literal["off", "memory", "disk"] = "memory"
    """No cache, one in this process, or one in a file."""
    path: str | None = None
    """File of the backend `disk`; it is made if need be."""
    ttl_s: float = Field(default=86_400.0, gt=0)
    """Seconds until an entry expires; a day."""
    max_entries: int = Field(default=10_000, ge=1)
    """Entries kept; the oldest go first."""

    @field_validator("backend", mode="before")
    @classmethod
    def _yaml_off_is_a_word(cls, value: Any) -> Any:
        return "off" if value is False else value  # YAML 1.1 reads a bare `off` as false

    @model_validator(mode="after")
    def _disk_has_its_file(self) -> CacheSettings:
        if self.backend == "disk" and not self.path:
            raise ValueError("backend 'disk' needs the key 'path'")
        return self


class LlmSettings(LlmEndpoint):
    """The model that draws samples and judges outside NeMo, and the limits that hold everywhere."""

    judge: LlmEndpoint | None = None
    """A separate model for judging; the main one if unset."""
    max_retries: int = Field(default=2, ge=0)
    """Further tries after an error that may pass (timeout, 429, 5xx)."""
    max_concurrency: int = Field(default=8, ge=1)
    """Requests under way at once for one response."""
    budget: BudgetSettings = BudgetSettings()
    cache: CacheSettings = CacheSettings()


MAX_SAMPLES = 100
"""Samples of one answer; SelfCheckGPT draws 20. More is a slip, and every one is paid for."""


class ConsistencySettings(Section):
    """Self-consistency: how many samples, how drawn, how compared (SelfCheckGPT, arXiv 2303.08896)."""

    samples: int | Literal["by_risk"] = 2
    """Number of samples, or `by_risk`: 1, 3 or 5 by the estimated risk (control stack 20.4.2)."""
    temperature: float = Field(default=1.0, ge=0.0)
    """Temperature of the samples; left out where a provider refuses it."""
    agreement: Literal["nli", "judge", "ngram"] = "nli"
    """Who says whether answer and samples agree: the NLI model, an LLM with the upstream prompt, or word statistics."""
    sampling: Literal["auto", "n", "parallel", "piggyback"] = "auto"
    """One request with `n`, single requests at once, together with the answer itself, or what the provider can."""
    early_stop: bool = True
    """Stop asking once no further sample can change the verdict."""

    @field_validator("samples", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("expected a number or 'by_risk'")
        return value

    @field_validator("samples")
    @classmethod
    def _at_least_one(cls, value: int | str) -> int | str:
        if isinstance(value, int) and not 1 <= value <= MAX_SAMPLES:
            raise ValueError(f"needs 1 to {MAX_SAMPLES} samples")
        return value


class GroundingSettings(Section):
    """Evidence NLI: windows and thresholds; unset thresholds come with the model."""

    window_tokens: int | None = Field(default=None, ge=16)
    """Length of an evidence window; unset: what the model reads besides the claim."""
    overlap_tokens: int | None = Field(default=None, ge=0)
    """Tokens that neighbouring windows share."""
    max_windows: int = Field(default=24, ge=1)
    """Windows of long evidence that reach the model for each sentence, after the lexical prefilter."""
    max_unsupported_score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Score above which a sentence counts as not supported; unset: the verdict model's own threshold."""
    contradiction_threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    """Contradiction score above which a sentence is contradicted; unset: the one of the verdict model."""
    self_contradiction: bool = True
    """Look for sentences of the answer that contradict each other."""
    prompt_divergence: bool = True
    """Look for sentences of the answer that contradict what the user said."""


class ClaimsSettings(Section):
    """Claims: how they are found in a response, and who puts them into the five classes."""

    extractor: Literal["auto", "offline", "llm"] = "auto"
    """Rules or a model. `auto`: rules; a model for languages that the rules do not know, if the settings name one."""
    classifier: Literal["auto", "offline", "llm"] = "auto"
    """NLI or a model. `auto`: NLI; what it leaves unsure goes to a model, if the settings name one."""
    calls: Literal["batch", "per_claim"] = "batch"
    """All claims in one call of a model, or one call a claim."""
    examples: str | None = None
    """YAML or JSON file of examples for the model, in place of ours; those nearest to the claims are shown to it."""


class RiskSettings(Section):
    """Borders of the risk levels: below `low` is low, from `high` on is high."""

    low: float = Field(default=0.3, ge=0.0, le=1.0)
    high: float = Field(default=0.7, ge=0.0, le=1.0)

    @model_validator(mode="after")
    def _in_order(self) -> RiskSettings:
        if self.low > self.high:
            raise ValueError(f"low ({self.low:g}) must not be above high ({self.high:g})")
        return self


class CascadeSettings(RiskSettings):
    """Which claims go to a judge: those whose local score is from `low` to `high`, is missing, or means `absent`."""

    low: float = Field(default=0.2, ge=0.0, le=1.0)
    high: float = Field(default=0.8, ge=0.0, le=1.0)
    judge: Literal["judge", "qa"] = "judge"


class SeverityWeights(Section):
    """How much a claim of each severity counts: the upper borders of the bands in control stack 20.1.4."""

    low: float = Field(default=0.3, ge=0.0, le=1.0)
    medium: float = Field(default=0.6, ge=0.0, le=1.0)
    high: float = Field(default=0.8, ge=0.0, le=1.0)
    critical: float = Field(default=1.0, ge=0.0, le=1.0)


class CompositeWeights(Section):
    """Weights of the composite score (control stack 20.6.5); they are made to sum to 1 over what was measured."""

    faithfulness: float = Field(default=0.25, ge=0.0)
    attribution_precision: float = Field(default=0.25, ge=0.0)
    groundedness: float = Field(default=0.25, ge=0.0)
    self_consistency: float = Field(default=0.25, ge=0.0)


class ScoringSettings(Section):
    """Which measures score the claims, how they are put together, and where risk begins."""

    measures: tuple[MeasureName, ...] = ()
    """Measures to run beside the checks' own verdicts; their scores stand in the report's metrics, for people."""
    weights: dict[MeasureName, float] = Field(default_factory=dict)
    """Of the measures in a claim's score; those not named keep their default. Only measures that ran count."""
    aggregation: Literal["noisy_or", "weighted"] = "noisy_or"
    """Claims to response. `weighted`, a mean, lets one false claim among many true ones look harmless."""
    severity: SeverityWeights = SeverityWeights()
    risk: RiskSettings = RiskSettings()
    cascade: CascadeSettings = CascadeSettings()
    composite: CompositeWeights = CompositeWeights()

    @field_validator("weights")
    @classmethod
    def _not_negative(cls, value: dict[MeasureName, float]) -> dict[MeasureName, float]:
        for name, weight in value.items():
            if not 0.0 <= weight <= 1.0:
                raise ValueError(f"the weight of {name} is {weight:g}; expected 0 to 1")
        return value

    @property
    def all_weights(self) -> dict[str, float]:
        """The weight of every measure, defaults included."""
        weights: dict[str, float] = {str(name): weight for name, weight in DEFAULT_MEASURE_WEIGHTS.items()}
        weights.update((str(name), weight) for name, weight in self.weights.items())
        return weights


class ExposeSettings(Section):
    """What may leave the app in exceptions and reports."""

    evidence: bool = False
    """Let exceptions and reports that leave the app carry evidence text."""


class When(Section):
    """Conditions of a policy rule; all given ones must hold, a list means any of its values."""

    kind: FindingKind | tuple[FindingKind, ...] | None = None
    """Kind of the finding."""
    label: Label | tuple[Label, ...] | None = None
    """Label of the claim behind it."""
    category: Category | tuple[Category, ...] | None = None
    """Its category."""
    severity: Severity | tuple[Severity, ...] | None = None
    """Its severity."""
    origin: Origin | tuple[Origin, ...] | None = None
    """`intrinsic`: against what the model was given; `extrinsic`: beyond it."""
    error_type: ErrorType | tuple[ErrorType, ...] | None = None
    """One of its error types."""
    check: str | tuple[str, ...] | None = None
    """Check that found it; `verification` is the chain of verification."""
    violation: str | tuple[str, ...] | None = None
    """What exactly was violated, in the words of the check that says so."""
    verification: Verified | tuple[Verified, ...] | None = None
    """What the chain of verification says about the claim behind it."""
    min_severity: float | None = Field(default=None, ge=0.0, le=1.0)
    """Its severity score is at least this."""
    min_score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Its score is at least this."""
    max_score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Its score is at most this."""

    @field_validator("check")
    @classmethod
    def _checks_that_exist(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        for name in (value,) if isinstance(value, str) else value or ():
            if name not in FINDERS:
                raise ValueError(f"there is no check {name!r}{nearest(name, FINDERS)}; available: {', '.join(FINDERS)}")
        return value

    @field_validator("violation")
    @classmethod
    def _violations_that_exist(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        known = all_violations()
        for name in (value,) if isinstance(value, str) else value or ():
            if name not in known:
                raise ValueError(f"no check reports {name!r}{nearest(name, known)}; available: {', '.join(known)}")
        return value


class Rule(Section):
    """One policy rule: the first whose `when` matches a finding decides it."""

    when: When
    """Conditions on a finding."""
    then: Decision
    """What happens then; the severest of all findings wins."""


class GuardConfig(Section):
    """All settings, validated."""

    schema_version: Literal[1] = 1
    """Version of this schema."""
    activation: Activation = "per_response"
    """Run where a flow sets the flag, on every answer, or off the path without ever changing one."""
    on_unverified: OnUnverified = "warn"
    """What happens to an answer that could not be checked."""
    checks: tuple[str, ...] = ("grounding", "claims")
    """What runs outside flows: from Python and the command line; at least one."""
    evidence: EvidenceSettings = EvidenceSettings()
    nli: NliSettings = NliSettings()
    llm: LlmSettings = LlmSettings()
    consistency: ConsistencySettings = ConsistencySettings()
    grounding: GroundingSettings = GroundingSettings()
    claims: ClaimsSettings = ClaimsSettings()
    citations: CitationSettings = CitationSettings()
    root_cause: RootCauseSettings = RootCauseSettings()
    granularity: GranularitySettings = GranularitySettings()
    structure: StructureSettings = StructureSettings()
    logic: LogicSettings = LogicSettings()
    scoring: ScoringSettings = ScoringSettings()
    calibration: CalibrationSettings = CalibrationSettings()
    severity: SeveritySettings = SeveritySettings()
    regeneration: RegenerationSettings = RegenerationSettings()
    verification: VerificationSettings = VerificationSettings()
    abstention: AbstentionSettings = AbstentionSettings()
    annotation: AnnotationSettings = AnnotationSettings()
    generation: GenerationSettings = GenerationSettings()
    quality_gate: QualityGateSettings = QualityGateSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    tools: ToolsSettings = ToolsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    service: ServiceSettings = ServiceSettings()
    escalation: EscalationSettings | None = None
    """Hand risky answers to a person; unset: there is no review queue. Reviews are kept in the store."""
    monitoring: MonitoringSettings = MonitoringSettings()
    store: StoreSettings | None = None
    """Keep every report; unset: none is kept."""
    streaming_fallback: Literal["block", "allow"] = "block"
    """What every decision between becomes while streaming, where NeMo can only allow or block."""
    expose: ExposeSettings = ExposeSettings()
    redaction: Redaction = "off"
    """Replace answer and evidence text by its hash, or drop it, in logs and reports."""
    policies: tuple[Rule, ...] = ()
    """Rules in order; the first that matches a finding decides it, the severest decision wins."""

    @model_validator(mode="after")
    def _an_exhausted_budget_can_be_seen(self) -> GuardConfig:
        then = self.monitoring.budget.when_exhausted
        if then is not None and self.store is None:
            raise ValueError("monitoring.budget.when_exhausted needs `store`: the budget is counted over kept reports")
        if then is not None and then.tiers is not None and self.escalation is None:
            raise ValueError("monitoring.budget.when_exhausted.tiers needs `escalation`: there is no review queue")
        return self

    @field_validator("schema_version", mode="before")
    @classmethod
    def _is_this_version(cls, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool) and value != SCHEMA_VERSION:
            remedy = "upgrade groundrails" if value > SCHEMA_VERSION else "run: groundrails migrate PATH --write"
            raise ValueError(f"this version of groundrails reads version {SCHEMA_VERSION}; {remedy}")
        return value

    @field_validator("checks")
    @classmethod
    def _something_is_checked(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError(
                f"an empty list checks nothing; name at least one of {', '.join(CHECKS)}, or leave the key out for the "
                "defaults (flows run their own checks whatever stands here)"
            )
        return tuple(dict.fromkeys(value))

    @field_validator("calibration")
    @classmethod
    def _calibrated_names_exist(cls, value: CalibrationSettings) -> CalibrationSettings:
        for name in (*value.methods, *(value.ensemble.weights if value.ensemble else ())):
            if name not in (*CHECKS, *MEASURES):
                raise ValueError(f"there is no check or measure {name!r}{nearest(name, [*CHECKS, *MEASURES])}")
        return value

    @field_validator("redaction", mode="before")
    @classmethod
    def _yaml_off_is_a_word(cls, value: Any) -> Any:
        return "off" if value is False else value  # YAML 1.1 reads a bare `off` as false

    @classmethod
    def load(cls, settings: Mapping[str, Any] | str | Path | GuardConfig | None = None) -> GuardConfig:
        """Settings from a mapping, a YAML file, a guardrails config folder or nothing (the defaults).

        Raises:
            SettingsError: a key or value is not valid, or the file cannot be read.
        """
        if isinstance(settings, GuardConfig):
            return settings
        if settings is None:
            return cls()
        if isinstance(settings, (str, Path)):
            return cls.load(read_settings(Path(settings)))
        if not isinstance(settings, Mapping):
            raise SettingsError(
                f"settings must be a mapping, a path or a GuardConfig, got {type(settings).__name__}: {settings!r}"
            )
        _refuse_unknown_checks(settings)
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            raise SettingsError("; ".join(problems(error, cls))) from None


def read_settings(path: Path) -> dict[str, Any]:
    """The groundrails part of a YAML file, or of the `config.yml`/`*.yml` of a guardrails config folder.

    Raises:
        SettingsError: nothing readable is there.
    """
    files = sorted([*path.glob("*.yml"), *path.glob("*.yaml")]) if path.is_dir() else [path]
    if not files:
        raise SettingsError(f"no YAML file in the folder {str(path)!r}; expected a config.yml")
    merged: dict[str, Any] = {}
    for file in files:
        merged.update(_groundrails_part(_read_yaml(file), whole=not path.is_dir()))
    return merged


def _read_yaml(file: Path) -> Any:
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"cannot read settings from {str(file)!r}: {error}") from error


def _groundrails_part(data: Any, *, whole: bool) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise SettingsError(f"settings must be a mapping at the top level, got {type(data).__name__}")
    custom = data.get("custom_data")
    for place in (custom if isinstance(custom, Mapping) else {}, data):
        if "groundrails" in place:
            part = place["groundrails"] or {}
            if not isinstance(part, Mapping):
                raise SettingsError(f"'groundrails' must be a mapping, got {type(part).__name__}: {part!r}")
            return dict(part)
    is_app_config = any(key in data for key in APP_KEYS)
    return dict(data) if whole and not is_app_config else {}


def _refuse_unknown_checks(settings: Mapping[str, Any]) -> None:
    """Name a check that does not exist with the nearest one that does."""
    checks = settings.get("checks")
    for name in checks if isinstance(checks, (list, tuple)) else ():
        if name not in CHECKS:
            raise SettingsError(
                f"unknown check {name!r} in 'checks'{nearest(str(name), CHECKS)}; available: {', '.join(CHECKS)}"
            )
