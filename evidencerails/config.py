"""The one schema of the settings: what stands under `custom_data: evidencerails:` and what `Guard` takes.

Every key has a default; an unknown key, a wrong value or a value of a later version is a `SettingsError` at load
that names the key, the value and the nearest valid choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError, field_validator, model_validator

from evidencerails.errors import SettingsError
from evidencerails.report import Redaction
from evidencerails.settings.base import Section
from evidencerails.settings.claims import (
    CitationSettings,
    ClaimsSettings,
    ConsistencySettings,
    EvidenceSettings,
    ExposeSettings,
    GranularitySettings,
    GroundingSettings,
    RootCauseSettings,
)
from evidencerails.settings.knowledge import KnowledgeSettings, ToolsSettings
from evidencerails.settings.llm import LlmSettings, NliSettings
from evidencerails.settings.mitigation import (
    AbstentionSettings,
    AnnotationSettings,
    GenerationSettings,
    QualityGateSettings,
    RegenerationSettings,
    SeveritySettings,
    VerificationSettings,
)
from evidencerails.settings.operations import (
    EscalationSettings,
    MonitoringSettings,
    ServiceSettings,
    StoreSettings,
    TelemetrySettings,
)
from evidencerails.settings.policies import CHECKS, Rule
from evidencerails.settings.problems import nearest, problems
from evidencerails.settings.reading import read_settings
from evidencerails.settings.scoring import MEASURES, CalibrationSettings, ScoringSettings
from evidencerails.settings.structure import LogicSettings, StructureSettings

OnUnverified = Literal["allow", "warn", "escalate", "block", "raise"]
Activation = Literal["per_response", "always", "shadow"]


class GuardConfig(Section):
    """All settings, validated."""

    activation: Activation = "per_response"
    """`per_response`: if a flow sets the flag; `always`: for every answer; `shadow`: in the background, without
    changing any answer."""
    on_unverified: OnUnverified = "warn"
    """Decision for an answer that could not be checked."""
    checks: tuple[str, ...] = ("grounding", "claims")
    """Checks that run outside flows (Python, HTTP, command line); at least one. Your own check as `module:Class`."""
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
    """Send risky answers to human review; unset: no review queue. Reviews are kept in the store."""
    monitoring: MonitoringSettings = MonitoringSettings()
    store: StoreSettings | None = None
    """Store every report; unset: none is stored."""
    streaming_fallback: Literal["block", "allow"] = "block"
    """Decision in place of `annotate` to `escalate` while streaming, when NeMo can only allow or block."""
    expose: ExposeSettings = ExposeSettings()
    redaction: Redaction = "off"
    """Replace answer and evidence text by its hash, or remove it, in reports."""
    policies: tuple[Rule, ...] = ()
    """Ordered rules; the first that matches a finding decides it, and the most severe decision over all findings
    applies."""

    @property
    def own_model_calls(self) -> int:
        """Calls a turn that a NeMo app's main model gets about unsure claims: none where a model is named for them."""
        named = self.llm.model or self.llm.base_url or self.llm.judge
        return 0 if named or self.claims.classifier != "auto" else self.claims.own_model_calls

    @model_validator(mode="after")
    def _an_exhausted_budget_can_be_seen(self) -> GuardConfig:
        then = self.monitoring.budget.when_exhausted
        if then is not None and self.store is None:
            raise ValueError("monitoring.budget.when_exhausted needs `store`: the budget is counted over kept reports")
        if then is not None and then.tiers is not None and self.escalation is None:
            raise ValueError("monitoring.budget.when_exhausted.tiers needs `escalation`: there is no review queue")
        return self

    @field_validator("checks")
    @classmethod
    def _every_check_exists(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError(
                f"an empty list checks nothing; name at least one of {', '.join(CHECKS)}, or leave the key out for the "
                "defaults (flows run their own checks whatever stands here)"
            )
        for name in value:
            if name not in CHECKS and ":" not in name:
                raise ValueError(f"unknown check {name!r}{nearest(name, CHECKS)}; available: {', '.join(CHECKS)}")
        return tuple(dict.fromkeys(value))

    @field_validator("calibration")
    @classmethod
    def _calibrated_names_exist(cls, value: CalibrationSettings) -> CalibrationSettings:
        for name in (*value.methods, *(value.ensemble.weights if value.ensemble else ())):
            if name not in (*CHECKS, *MEASURES):
                raise ValueError(f"there is no check or measure {name!r}{nearest(name, [*CHECKS, *MEASURES])}")
        return value

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
            raise SettingsError(f"settings must be a mapping, a path or a GuardConfig, got {type(settings).__name__}")
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            raise SettingsError("; ".join(problems(error, cls))) from None
