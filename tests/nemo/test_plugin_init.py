"""`init`: an app with bad settings, a broken action or a broken prompt does not start, and says why in one line."""

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from nemo_apps import (
    ALWAYS,
    BLOCKED,
    CLEAN,
    EVIDENCE,
    PLANTED,
    app_yaml,
    is_sampling,
    make_app,
    new_app,
    put_plugin_together,
    script,
    shown,
    streamed,
    user,
)

from evidencerails.adapters.nemo_install import import_path_problem
from evidencerails.nli.service import NliService
from evidencerails.settings.llm import NliSettings
from evidencerails.testing import ReplayServer


def _fails_to_start(yaml: str, caplog: pytest.LogCaptureFixture) -> str:
    """The cause of the failure; the same words stand in the log."""
    with pytest.raises(RuntimeError) as failure:
        make_app(yaml)
    cause = str(failure.value.__cause__)
    (line,) = [r.message for r in caplog.records if r.name == "evidencerails" and r.levelno == logging.ERROR]
    assert line == f"evidencerails: cannot start: {cause}"
    return cause


PROMPT = 'prompts: [{task: self_check_hallucination, content: "%s"}]\n'
SETTINGS = "custom_data: {evidencerails: %s}\n"


@pytest.mark.parametrize(
    ("yaml", "words"),
    [
        (SETTINGS % "{activaton: always}", ["'activaton'", "did you mean 'activation'?"]),
        (SETTINGS % "{activation: sometimes}", ["activation", "'sometimes'", "shadow"]),
        (SETTINGS % "[1, 2]", ["custom_data.evidencerails must be a mapping", "list"]),
        (SETTINGS % "{policies: [{when: {kind: unsupported_clam}, then: warn}]}", ["unsupported_clam", "ed_claim"]),
        ("prompts: [{task: clasify_claim, content: 'Judge {{ claims }}'}]\n",
         ["no task 'clasify_claim'; did you mean 'classify_claim'"]),
        (PROMPT % "{{ statement }} and {{ paragraf }}", ["self_check_hallucination", "unknown variable 'paragraf'"]),
        (PROMPT % "only {{ statement }}", ["self_check_hallucination", "'paragraph' does not occur"]),
        (PROMPT % "{{ statement }} {% if paragraph %}", ["self_check_hallucination", "broken template"]),
    ],
)  # fmt: skip
def test_bad_settings_and_prompts_stop_the_app(
    server: ReplayServer, caplog: pytest.LogCaptureFixture, yaml: str, words: list[str]
) -> None:
    cause = _fails_to_start(app_yaml(server.base_url, yaml), caplog)
    assert all(word in cause for word in words), cause


@pytest.mark.parametrize(
    ("nli", "is_loaded"), [("{batch_size: 29}", True), ("{backend: transformers, model: /no/such/model}", False)]
)
async def test_an_app_begins_to_load_its_model_before_the_first_turn(
    server: ReplayServer, caplog: pytest.LogCaptureFixture, nli: str, is_loaded: bool
) -> None:
    new_app(server, f"custom_data: {{evidencerails: {{nli: {nli}}}}}\n")
    service = NliService.from_settings(NliSettings.model_validate(yaml.safe_load(nli)))
    await service.run(int)  # its one thread has come to the end of what was begun before
    assert (service.version != "not loaded") is is_loaded
    assert ("the NLI model cannot be loaded" in caplog.text) is not is_loaded


def test_action_file_that_fails_to_import_stops_the_app(
    server: ReplayServer, caplog: pytest.LogCaptureFixture, tmp_path: Path, repository: Path
) -> None:
    """NeMo logs such a file and runs its own rail of the same name, which lets everything through."""
    broken = put_plugin_together(repository, tmp_path / "plugin")
    (broken / "actions" / "rails.py").write_text("import no_such_module\n")
    (broken / "actions" / "sound.py").touch()
    yaml = app_yaml(server.base_url).replace("evidencerails/plugin", str(broken))
    cause = _fails_to_start(yaml, caplog)
    assert "'self_check_hallucination' is that of" in cause
    assert "rails.py: ModuleNotFoundError: No module named 'no_such_module'" in cause
    assert "sound.py" not in cause


def test_bad_prompt_names_its_file(server: ReplayServer, tmp_path: Path) -> None:
    from nemoguardrails import LLMRails, RailsConfig

    (tmp_path / "config.yml").write_text(app_yaml(server.base_url))
    (tmp_path / "prompts.yml").write_text("prompts: [{task: self_check_hallucination, content: '{{ nothing }}'}]\n")
    with pytest.raises(RuntimeError) as failure:
        LLMRails(RailsConfig.from_path(str(tmp_path)))
    assert str(tmp_path / "prompts.yml") in str(failure.value.__cause__)


def test_half_a_plugin_in_the_current_directory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert import_path_problem() is None
    (tmp_path / "evidencerails" / "plugin").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    problem = import_path_problem()
    assert problem is not None and "has no rails, actions, prompts, config.py" in problem
    assert "COLANGPATH=" in problem


async def test_apps_of_one_process_share_nothing_and_reload(server: ReplayServer) -> None:
    strict = new_app(server, ALWAYS)
    lenient = new_app(server)
    copy: Any = type(strict).__new__(type(strict))
    copy.__setstate__(strict.__getstate__())
    said = [await shown(app, server, PLANTED) for app in (strict, lenient, copy)]
    assert said == [[BLOCKED], [PLANTED], [BLOCKED]]


def test_same_config_twice_and_synchronous_generate(server: ReplayServer) -> None:
    """An action's parameters come from its own app, also where two apps were made of one config object."""
    from nemoguardrails import LLMRails, RailsConfig

    config = RailsConfig.from_content(yaml_content=app_yaml(server.base_url, ALWAYS))
    first, second = LLMRails(config), LLMRails(config)
    script(server, PLANTED)
    for app in (first, second):
        assert app.generate(messages=user({"evidence": EVIDENCE}))["content"] == BLOCKED


@pytest.mark.parametrize(("stream_first", "seen"), [("false", 0), ("true", len(PLANTED))])
async def test_what_a_stream_shows_before_its_check_is_warned_of_once(
    server: ReplayServer, caplog: pytest.LogCaptureFixture, stream_first: str, seen: int
) -> None:
    streaming = f"{{enabled: true, chunk_size: 50, context_size: 4, stream_first: {stream_first}}}"
    yaml = f"rails: {{output: {{flows: [check grounding], streaming: {streaming}}}}}\n"
    app = new_app(server, yaml)
    script(server, PLANTED)
    await streamed(app.stream_async(messages=user({"evidence": EVIDENCE})))
    assert len([line for line in caplog.messages if "BEFORE it is checked" in line]) == bool(seen)
    (line,) = [line for line in caplog.messages if "hallucinated" in line]
    assert line.endswith(f"; {seen} characters of the answer were already shown")


async def test_samples_are_drawn_once_a_streamed_turn(server: ReplayServer) -> None:
    yaml = """
    rails:
      output:
        flows: [self check hallucination]
        streaming: {enabled: true, chunk_size: 6, context_size: 3, stream_first: false}
    """
    app = new_app(server, yaml)
    long_answer = f"{CLEAN} {CLEAN} {CLEAN} {CLEAN}"
    script(server, long_answer, samples=long_answer)
    assert await streamed(app.stream_async(messages=user())) == long_answer
    assert sum(is_sampling(request) for request in server.requests) == 1


async def test_piggyback_needs_no_request_after_the_answer(server: ReplayServer) -> None:
    yaml = "custom_data: {evidencerails: {activation: always, consistency: {sampling: piggyback}}}\n"
    app = new_app(server, yaml, flows="self check hallucination")
    server.default([PLANTED, CLEAN, CLEAN])
    assert (await app.generate_async(messages=user()))["content"] == BLOCKED
    assert len(server.requests) == 1


def test_guardrails_wrapper_runs_the_rail(server: ReplayServer) -> None:
    """Its IORails engine runs NeMo's own library actions only; for these flows it falls back to `LLMRails`."""
    from nemoguardrails import Guardrails, RailsConfig

    yaml = f"{ALWAYS}rails: {{output: {{flows: [self check hallucination]}}}}\n"
    wrapper = Guardrails(RailsConfig.from_content(yaml_content=app_yaml(server.base_url, yaml)))
    script(server, PLANTED)
    assert wrapper.generate(messages=user())["content"] == BLOCKED
