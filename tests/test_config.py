"""Settings: every bad one fails at load and names the key, the value and the nearest valid choice."""

import ast
from pathlib import Path
from typing import Any

import pytest

from evidencerails import Guard, GuardConfig
from evidencerails.errors import SettingsError
from evidencerails.settings.policies import all_violations

BAD: dict[str, tuple[Any, list[str]]] = {
    "unknown key": ({"polices": []}, ["unknown key 'polices'", "did you mean 'policies'?", "valid keys: "]),
    "unknown key, nothing near": ({"zzz": 1}, ["unknown key 'zzz'", "valid keys: activation"]),
    "unknown key two levels down": ({"llm": {"budget": {"call": 3}}}, ["'llm.budget.call'", "did you mean 'calls'?"]),
    "wrong word": ({"activation": "alway"}, ["activation: 'alway'", "did you mean 'always'?"]),
    "wrong backend": ({"nli": {"backend": "onnx"}}, ["nli.backend: 'onnx'", "'embedded'", "'transformers'"]),
    "address without a scheme": ({"nli": {"backend": "remote", "url": "localhost"}}, ["nli.url",
     "expected a URL such as http://"]),
    "model's address without a host": ({"llm": {"base_url": "http://"}}, ["llm.base_url: the value", "expected a URL"]),
    "backend without its address": ({"nli": {"backend": "remote"}}, ["nli", "needs the key 'url'"]),
    "backend without its model": ({"nli": {"backend": "transformers"}}, ["needs the key 'model'"]),
    "model without its backend": ({"nli": {"model": "my/model"}}, ["nli: ", "'embedded' does not read the key 'model'",
     "set 'backend: transformers'"]),
    "address without its backend": ({"nli": {"url": "http://h"}}, ["read the key 'url'", "set 'backend: remote'"]),
    "no language": ({"nli": {"languages": []}}, ["nli.languages: []", "at least one code"]),
    "wrong type": ({"nli": {"batch_size": "many"}}, ["nli.batch_size: 'many'", "integer"]),
    "out of range": ({"grounding": {"max_unsupported_score": 1.5}}, ["grounding.max_unsupported_score: 1.5",
     "less than"]),
    "no sample": ({"consistency": {"samples": 0}}, ["consistency.samples: 0", "needs 1 to 100 samples"]),
    "thresholds that fall": ({"scoring": {"risk": {"low": 0.9}}}, ["scoring.risk: ", "low <= high, got 0.9, 0.7"]),
    "a condition that never holds": ({"policies": [{"when": {"min_score": 0.9, "max_score": 0.1}, "then": "block"}]},
     ["policies[1].when", "min_score (0.9) is above max_score (0.1)"]),
    "a million samples": ({"consistency": {"samples": 1_000_000}}, ["1000000", "needs 1 to 100 samples"]),
    "wrong number of samples": ({"consistency": {"samples": "by_rsk"}}, ["consistency.samples: 'by_rsk'", "by_risk"]),
    "a number by the risk of an answer that is not there yet": ({"consistency": {"samples": "by_risk",
     "sampling": "piggyback"}}, ["consistency: ", "by_risk needs the answer first"]),
    "unknown evidence place": ({"evidence": {"from": ["chunks"]}}, ["evidence.from[1]: 'chunks'", "relevant_chunks"]),
    "section that is no mapping": ({"nli": "embedded"}, ["nli: 'embedded'"]),
    "unknown check": ({"checks": ["groundng"]}, ["unknown check 'groundng'", "did you mean 'grounding'?"]),
    "unknown decision": ({"policies": [{"when": {}, "then": "blok"}]}, ["policies[1].then: 'blok'",
     "did you mean 'block'?"]),
    "unknown kind": ({"policies": [{"when": {"kind": "unsupported_clam"}, "then": "warn"}]},
     ["policies[1].when.kind: 'unsupported_clam'", "did you mean 'unsupported_claim'?"]),
    "unknown label in a list": ({"policies": [{"when": {"label": ["absent", "wrng"]}, "then": "warn"}]},
     ["policies[1].when.label", "'wrng'"]),
    "unknown condition": ({"policies": [{"when": {"knd": "x"}, "then": "warn"}]}, ["unknown key 'policies[1].when.knd'",
     "did you mean 'kind'?"]),
    "rule without a decision": ({"policies": [{"when": {}}]}, ["policies[1].then: this key is required"]),
    "check that is none": ({"policies": [{"when": {"check": ["groundng"]}, "then": "warn"}]}, ["policies[1].when.check",
     "no check 'groundng'; did you mean 'grounding'?"]),
    "violation that no check reports": ({"policies": [{"when": {"violation": ["nonexistent_sorce"]}, "then": "warn"}]},
     ["policies[1].when.violation", "'nonexistent_sorce'; did you mean 'nonexistent_source'?"]),
    "no checks at all": ({"checks": []}, ["checks: []", "name at least one of citations", "leave the key out"]),
    "a million samples as a word": ({"consistency": {"samples": "1000000"}}, ["consistency.samples: '1000000'"]),
    "true as a number": ({"consistency": {"samples": True}}, ["consistency.samples: True", "by_risk"]),
    "a key that YAML reads as true": ({True: {}}, ["key True is not a word", "quote it"]),
    "no name of a variable": ({"evidence": {"variable": "my evidence"}}, ["evidence.variable: 'my evidence'"]),
    "a word where a list belongs": ({"checks": "grounding"}, ["checks: 'grounding'", "should be a list"]),
    "nothing where a section belongs": ({"nli": None}, ["nli: None", "should be a mapping of keys"]),
    "key without a role that is one": ({"service": {"keys": [{"name": "a", "role": "chek", "sha256": "0" * 64}]}},
     ["service.keys[1].role: 'chek'", "did you mean 'check'?"]),
    "missing file of examples": ({"claims": {"examples": "none.yml"}}, ["claims.examples: cannot read 'none.yml'"]),
}  # fmt: skip


@pytest.mark.parametrize("settings, parts", BAD.values(), ids=BAD)
def test_bad_setting(settings: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        Guard(settings)
    message = str(caught.value)
    assert [part for part in parts if part not in message] == [], message
    assert len(message) < 1_000


def test_variable_may_be_written_as_in_a_flow() -> None:
    assert GuardConfig.load({"evidence": {"variable": "$sources"}}).evidence.variable == "sources"


def test_one_mistake_is_one_line() -> None:
    with pytest.raises(SettingsError) as caught:
        GuardConfig.load({"policies": [{"when": {"kind": "nonsense"}, "then": "warn"}]})
    assert str(caught.value).count("policies[1].when.kind") == 1


def test_several_mistakes_are_all_named() -> None:
    with pytest.raises(SettingsError) as caught:
        GuardConfig.load({"activation": "x", "nli": {"threads": 0}})
    assert "activation" in str(caught.value) and "nli.threads" in str(caught.value)


@pytest.mark.parametrize("settings", [5, ["grounding"], object()])
def test_settings_of_a_wrong_type(settings: Any) -> None:
    with pytest.raises(SettingsError, match="settings must be a mapping, a path or a GuardConfig, got"):
        GuardConfig.load(settings)


def test_defaults_are_those_of_the_design() -> None:
    config = GuardConfig.load()
    assert (config.activation, config.on_unverified, config.streaming_fallback) == ("per_response", "warn", "block")
    assert config.nli.backend == "embedded" and config.consistency.samples == 2
    assert config.evidence.places[0] == "variable" and not config.expose.evidence


def test_a_secret_is_not_shown() -> None:
    config = GuardConfig.load({"llm": {"api_key": "sk-very-secret", "model": "m"}})
    assert "sk-very-secret" not in repr(config) + config.model_dump_json()


DSN = "postgresql://u:SECRET@h/db"
SECRETS: dict[str, tuple[dict[str, Any], str]] = {
    "in a list": ({"llm": {"api_key": ["SECRET"]}}, "llm.api_key: the value is"),
    "deep in all settings": (
        {"llm": {"api_key": "SECRET"}, "monitoring": {"budget": {"when_exhausted": {"on_unverified": "block"}}}},
        "the section with llm, monitoring is not valid: ",
    ),
    "of a source beside a wrong name": (
        {"knowledge": {"sources": {"o": {"kind": "sqlalchemy", "url": DSN, "table": "t"}},
         "entities": {"ids": {"sources": ["orders"]}}}},
        "knowledge: the section with sources, entities is not valid: entities.ids.sources names 'orders'",
    ),
    "of a source without its table": (
        {"knowledge": {"sources": {"o": {"kind": "sqlalchemy", "url": DSN}}}},
        "knowledge.sources.o: the section with kind, url is not valid: kind 'sqlalchemy' needs the key 'table'",
    ),
    "beside a missing key": ({"service": {"keys": [{"name": "a", "sha256": "SECRET"}]}}, "service.keys[1].role: this"),
    "a key in place of its hash": (
        {"service": {"keys": [{"name": "a", "role": "read", "sha256": "SECRET"}]}}, "service.keys[1].sha256: the value",
    ),
    "a key in place of its section": ({"service": {"keys": ["SECRET"]}}, "service.keys[1]: the value is"),
    "an address in place of a section": ({"store": DSN}, "store: the value is"),
    "a list in place of a section": ({"llm": [{"api_key": "SECRET"}]}, "llm: the list is"),
    "a password in an address": ({"llm": {"base_url": "htp://u:SECRET@h"}}, "llm.base_url: the value is"),
}  # fmt: skip


@pytest.mark.parametrize("settings, start", SECRETS.values(), ids=SECRETS)
def test_a_secret_is_in_no_message(settings: dict[str, Any], start: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Guard(settings)
    assert "SECRET" not in str(caught.value) and start in str(caught.value)
    assert not str(caught.value).startswith(":")


FILES = {
    "bare settings": "activation: always\n",
    "under evidencerails": "evidencerails:\n  activation: always\n",
    "an app's config": "models: []\ncustom_data:\n  evidencerails:\n    activation: always\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_settings_from_a_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yml"
    file.write_text(text)
    assert GuardConfig.load(file).activation == "always"
    assert GuardConfig.load(str(file)).activation == "always"


def test_settings_from_a_config_folder(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("models: []\ncustom_data: {evidencerails: {redaction: off}}\n")
    (tmp_path / "prompts.yml").write_text("prompts: []\n")
    assert GuardConfig.load(tmp_path).redaction == "off"  # YAML reads a bare `off` as false


@pytest.mark.parametrize(
    ("text", "named", "key"),
    [
        ("models: []\ncustom_data: {%s: {on_unverified: block}}\n", "custom_data.", "evidencerail"),
        ("models: []\n%s: {on_unverified: block}\n", "", "evidence_rails"),
        ("%s: {on_unverified: block}\n", "", "EvidenceRails"),
    ],
)
def test_settings_under_a_misspelt_name(text: str, named: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text(text % key)
    for place in (tmp_path, tmp_path / "config.yml"):
        with pytest.raises(SettingsError, match=f"^{named}{key}: nothing reads this key; .* {named}evidencerails$"):
            GuardConfig.load(place)


def test_config_without_our_part_means_defaults(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("models: []\ncustom_data: {evidence: 1, rails: 2, my_evidencerails_ui: 3}\n")
    assert GuardConfig.load(tmp_path) == GuardConfig()


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: [", "cannot read settings"),
        ("a: " + "[" * 5000, "nested too deep"),
        ("a: 2024-13-45", "cannot read settings"),
        ("a: " + "1" * 5000, "cannot read settings"),
        ("checks: [claims]\nchecks: [logic]", "the key 'checks' stands twice"),
        ("- 1\n", "must be a mapping at the top level"),
        ("evidencerails: 5", "must be a mapping"),
        ("evidencerails: [SECRET]", "must be a mapping, got list$"),
        ("custom_data: {%s: {checks: [logic]}}" % ("ground" + "rails"), "write custom_data.evidencerails$"),
        ("llm:\n  api_key: 'SECRET\n", "found unexpected end of stream in line 3$"),
    ],
)
def test_unreadable_file(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "s.yml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        GuardConfig.load(file)


def test_missing_file_and_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read settings"):
        GuardConfig.load(tmp_path / "none.yml")
    with pytest.raises(SettingsError, match="no YAML file"):
        GuardConfig.load(tmp_path)


def test_every_violation_in_the_code_can_be_named_in_a_policy(repository: Path) -> None:
    """Findings are made in `evidencerails/checks`; a word missing in `VIOLATIONS` could not be ruled on."""
    said = set()
    for file in (repository / "evidencerails" / "checks").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "violation" and isinstance(node.value, ast.Constant):
                said.add(node.value.value)
    assert said - {None} <= set(all_violations())
