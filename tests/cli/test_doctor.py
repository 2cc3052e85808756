import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import Run

from evidencerails.testing import ReplayServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("colang_is_parsed_once")]


@pytest.fixture(autouse=True)
def download_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No embedding model is here, and the host that has them can be reached."""
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "no-models"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with ReplayServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.base_url)
        yield


Examined = Callable[..., tuple[int, list[Any], set[str]]]
MODELS = "models:\n  - {type: main, engine: openai, model: gpt-4o-mini}\n"
IMPORT = "import_paths: [evidencerails/plugin]\n"
ALWAYS = "custom_data: {evidencerails: {activation: always}}\n"
GROUNDING = "rails:\n  output:\n    flows: [check grounding]\n"
SOUND = MODELS + IMPORT + ALWAYS + GROUNDING

DIALOG = """
define user ask about the bridge
  "When was the bridge opened?"

define user greet
  "Hello"

define flow bridge
  user ask about the bridge
  $check_grounding = True
  $check_hallucination = True
  bot tell about the bridge
"""

COLANG_2 = {
    "config.yml": 'colang_version: "2.x"\n' + MODELS + ALWAYS,
    "main.co": "import core\nimport guardrails\nimport evidencerails.plugin\n\nflow main\n  bot say 'hi'\n\n"
    "flow output rails $output_text\n  check grounding\n  self check hallucination\n",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def examined(evidencerails: Run, tmp_path: Path) -> Examined:
    """Exit code, rows and codes of the problems of an app with these files."""

    def run(files: dict[str, str] | str, *options: str) -> tuple[int, list[Any], set[str]]:
        files = {"config.yml": files} if isinstance(files, str) else files
        done = evidencerails("doctor", written(tmp_path / "app", files), "--json", *options)
        assert done.code in (0, 1), done.err
        data = json.loads(done.out)
        return done.code, data["rails"], {problem["code"] for problem in data["problems"]}

    return run


BOTH = "rails: {output: {flows: [self check hallucination, check grounding]}}\n"
WITH_MODEL = ["general", "ready answer (output rails only)", "check_async"]
READY = WITH_MODEL[1:]
OWN_FLOW = """
define subflow mine
  $bad = execute check_grounding
  if $bad
    bot refuse
    stop

define bot refuse
  "No."
"""
FIRING: dict[str, tuple[dict[str, str], list[str]]] = {
    "always": ({"config.yml": SOUND}, WITH_MODEL),
    "dialog": ({"config.yml": MODELS + IMPORT + BOTH, "flows.co": DIALOG}, ["dialog", *READY] * 2),
    "single call": (
        {"config.yml": MODELS + IMPORT + GROUNDING + "  dialog: {single_call: {enabled: true}}\n", "flows.co": DIALOG},
        ["dialog, single call", *READY],
    ),
    "passthrough": ({"config.yml": SOUND + "passthrough: true\n"}, ["passthrough", *READY]),
    "streaming": ({"config.yml": SOUND + "    streaming: {enabled: true, stream_first: false}\n"},
                  ["general", "stream_async", *READY]),
    "exceptions": ({"config.yml": SOUND + "enable_rails_exceptions: true\n"}, WITH_MODEL[:2]),
    "colang 2": (COLANG_2, ["Colang 2.x", "Colang 2.x"]),
    "own flow": (
        {"config.yml": MODELS + IMPORT + "rails: {output: {flows: [mine]}}\n", "f.co": OWN_FLOW}, WITH_MODEL),
    "no model in the config": ({"config.yml": "models: []\n" + IMPORT + ALWAYS + GROUNDING}, WITH_MODEL),
}  # fmt: skip


@pytest.mark.parametrize(("files", "modes"), FIRING.values(), ids=FIRING.keys())
def test_every_rail_of_a_sound_config_is_proven_in_each_mode(
    examined: Examined, tmp_path: Path, files: dict[str, str], modes: list[str]
) -> None:
    before = dict(files)
    code, rows, problems = examined(files)
    assert [row["mode"] for row in rows] == modes
    assert [row["why"] for row in rows if not row["fires"]] == []
    assert {row["planted"] for row in rows} <= {"blocked", "raised"}
    assert {row["clean"] for row in rows} == {"passed"}
    assert code == 0, problems
    assert {name: (tmp_path / "app" / name).read_text() for name in before} == before


STREAMING = "    streaming: {enabled: true, stream_first: false}\n"


@pytest.mark.parametrize(
    ("flow", "policies"), [("check logic", ""), ("check grounding", ", policies: [{when: {}, then: regenerate}]")]
)
def test_a_stream_is_judged_by_what_came_of_its_chunks(examined: Examined, flow: str, policies: str) -> None:
    """The whole text's own decision is milder, and a repair of it took the clean answer that was planted next."""
    config = SOUND.replace("check grounding", flow).replace("always}", f"always{policies}}}")
    code, rows, _ = examined(config + STREAMING)
    seen = {row["mode"]: (row["planted"], row["clean"], row["why"]) for row in rows}
    assert code == 0, seen
    assert seen["stream_async"] == ("blocked", "passed", "")


def set_to(settings: str, flow: str = "check grounding", more: str = "") -> str:
    """A sound config with other settings than `activation: always`, and perhaps another rail."""
    return SOUND.replace("{activation: always}", settings).replace("check grounding", flow) + more


PARCELS = {"kb/parcels.md": "# Parcels\n\nParcels arrive within 3 business days.\n"}
MARKED = "{{activation: always, annotation: {{format: {}}}, policies: [{{when: {{}}, then: annotate}}]}}"
ALLOWED = "{activation: always, policies: [{when: {kind: unsupported_claim}, then: allow}]}"
SCHEMA = "{activation: always, structure: {constrain: response_format, schema: {type: object, required: [a]}}}"
SOURCES = "{ids: {kind: callable, function: 'builtins:bool'}}, entities: {ids: {sources: [ids]}}"
FOUND_IN = "{{activation: always, evidence: {{from: {}}}}}"
PROVEN: dict[str, tuple[str, dict[str, str], str]] = {
    **{f"{form} marks inside": (set_to(MARKED.format(form), "check logic"), {}, "warned")
       for form in ("plain", "markdown", "html")},
    "shadow": (set_to("{activation: shadow}"), {}, "passed"),
    "found_but_allowed": (set_to(ALLOWED), {}, "passed"),
    "a schema": (set_to(SCHEMA, "check structure"), {}, "blocked"),
    "no schema": (set_to("{activation: always}", "check structure"), {}, "blocked"),
    "logic": (set_to("{activation: always}", "check logic"), {}, "warned"),
    "sources that are stood in for": (
        set_to(f"{{activation: always, knowledge: {{sources: {SOURCES}}}}}", "check knowledge"), {}, "blocked"),
    "evidence in the knowledge base alone": (set_to(FOUND_IN.format("[knowledge_base]")), PARCELS, "blocked"),
    "evidence in the knowledge base first": (set_to(FOUND_IN.format("[knowledge_base, variable]")), PARCELS, "blocked"),
    "evidence in system messages": (set_to(FOUND_IN.format("[system_context]")), {}, "blocked"),
    "evidence in tool messages": (set_to(FOUND_IN.format("[tool_messages]")), {}, "blocked"),
    "evidence of a passthrough app": (
        set_to(FOUND_IN.format("[variable, knowledge_base, system_context]"), more="passthrough: true\n"),
        PARCELS, "blocked"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVEN)
def test_a_rail_is_proven_with_what_its_settings_need(examined: Examined, name: str) -> None:
    """An answer with marks inside is none that was blocked; what is found and let pass is proven by its report."""
    config, files, effect = PROVEN[name]
    code, rows, problems = examined({"config.yml": config, **files})
    assert [row["why"] for row in rows if not row["fires"]] == []
    assert {(row["planted"], row["clean"]) for row in rows} == {(effect, "passed")}
    assert code == 0
    assert problems >= {name} if effect == "passed" else not problems & {"shadow", "found_but_allowed"}


@pytest.mark.parametrize(
    "evidence",
    ["{from: [system_context]}", "{from: [knowledge_base]}", "{variable: sources}", "{from: [relevant_chunks]}"],
)
def test_colang_2_finds_the_evidence_where_its_settings_say(examined: Examined, evidence: str) -> None:
    config = COLANG_2["config.yml"].replace("always", f"always, evidence: {evidence}")
    code, rows, _ = examined({**COLANG_2, "config.yml": config, **PARCELS})
    assert [row["why"] for row in rows if not row["fires"]] == []
    assert code == 0


@pytest.mark.parametrize(
    ("evidence", "read"),
    [
        ("{}", {"evidence", "stakes", "response_schema"}),
        ("{variable: sources}", {"sources", "stakes", "response_schema"}),
        ("{from: [knowledge_base]}", {"stakes", "response_schema"}),
    ],
)
def test_a_variable_that_a_flow_keeps_to_itself_is_an_error(
    evidencerails: Run, tmp_path: Path, evidence: str, read: set[str]
) -> None:
    config = COLANG_2["config.yml"].replace("always", f"always, evidence: {evidence}")
    sets = [f'  ${name} = "x"\n' for name in ("evidence", "stakes", "response_schema", "sources")]
    shared = [f"  global {line.split()[0]}\n{line}" for line in sets]
    flows = f"\nflow keeps it\n{''.join(sets)}\nflow shares it\n{''.join(shared)}"
    files = {"config.yml": config, "main.co": COLANG_2["main.co"] + flows, **PARCELS}
    done = evidencerails("doctor", written(tmp_path / "app", files))
    assert done.code == 1
    found = re.findall(r"\[variable_not_global\] flow '(.+)' sets \$(\w+)", done.err)
    assert sorted(found) == sorted(("keeps it", name) for name in read)


REPLACES = "def check_grounding():\n    return False\n"
REGISTERS = (
    "from nemoguardrails.actions import action\n\n\n@action()\nasync def fake():\n    return False\n\n\n"
    "def init(app):\n    app.register_action(fake, 'check_grounding')\n"
)
NO_FLAG = MODELS + IMPORT + GROUNDING
EIGHT = [
    f"check {one}" for one in ("grounding", "claims", "logic", "structure", "citations", "knowledge", "tool calls")
]
EIGHT.append("self check hallucination")
BROKEN: dict[str, tuple[dict[str, str], str, int]] = {
    "no import of eight rails": (
        {"config.yml": MODELS + f"rails: {{output: {{flows: [{', '.join(EIGHT)}]}}}}\n"}, "no_import", 1),
    "no rail": ({"config.yml": MODELS + IMPORT}, "no_rail", 1),
    "flag set nowhere": ({"config.yml": NO_FLAG}, "flag_set_nowhere", 1),
    "flag of a rail that is not there": (
        {"config.yml": NO_FLAG, "f.co": "define flow x\n  user y\n  $check_claims = True\n"}, "flag_without_rail", 1),
    "misspelt flag": (
        {"config.yml": NO_FLAG, "f.co": "define flow x\n  user y\n  $check_groundig = True\n"}, "flag_misspelt", 1),
    "flag not global in colang 2": (
        {"config.yml": COLANG_2["config.yml"].replace(ALWAYS, ""),
         "main.co": COLANG_2["main.co"] + "\nflow ask for it\n  $check_grounding = True\n"}, "flag_not_global", 1),
    "old prompts key": ({"config.yml": SOUND + "task_prompts: []\n"}, "dropped_key", 1),
    "misspelt key": ({"config.yml": SOUND + "  outptu: {}\n"}, "dropped_key", 1),
    "bad settings": ({"config.yml": SOUND.replace("always", "allways")}, "settings", 1),
    "action registered over ours": ({"config.yml": SOUND, "config.py": REGISTERS}, "action_overridden", 1),
    "own action replaced": ({"config.yml": SOUND, "actions.py": REPLACES}, "own_action_replaced", 0),
    "own flow of our name": (
        {"config.yml": SOUND, "f.co": "define subflow check grounding\n  $x = 1\n"}, "flow_overridden", 1),
    "message that skips rails": (
        {"config.yml": SOUND, "f.co": 'define bot tell\n  "The answer is {{ answer }}."\n'}, "message_skips_rails", 0),
    "stream first": ({"config.yml": SOUND + "    streaming: {enabled: true}\n"}, "stream_first", 0),
    "two files with rails": ({"config.yml": SOUND, "more.yml": GROUNDING}, "rails_twice", 0),
    "init of the app fails": (
        {"config.yml": SOUND, "config.py": "def init(app):\n    raise ValueError('no')\n"}, "does_not_start", 1),
    "tool input": (
        {"config.yml": SOUND + "  tool_input: {flows: [mine]}\n", "f.co": "define flow mine\n  $x = 1\n"},
        "tool_input", 0),
    "tool rail in colang 2": (
        {**COLANG_2, "config.yml": COLANG_2["config.yml"] + "rails: {tool_output: {flows: [check tool calls]}}\n"},
        "no_tool_rails", 1),
    "colang 2 limits": (COLANG_2, "colang_2_limits", 0),
    "colang 2 without guardrails": (
        {**COLANG_2, "main.co": COLANG_2["main.co"].replace("import guardrails\n", "")}, "no_guardrails", 1),
    "check knowledge without sources": ({"config.yml": SOUND.replace("grounding", "knowledge")}, "no_sources", 1),
    "check structure without a schema": ({"config.yml": SOUND.replace("grounding", "structure")}, "no_schema", 0),
    "check grounding without evidence": ({"config.yml": SOUND}, "no_evidence", 0),
    "self check without a model": (
        {"config.yml": SOUND.replace(MODELS, "models: []\n").replace("check grounding", "self check hallucination")},
        "no_model", 0),
    "dialog without offline embeddings": (
        {"config.yml": MODELS + IMPORT + BOTH, "flows.co": DIALOG}, "embeddings_download", 0),
}  # fmt: skip


@pytest.mark.parametrize(("files", "problem", "code"), BROKEN.values(), ids=BROKEN.keys())
def test_what_keeps_a_rail_silent_is_found(examined: Examined, files: dict[str, str], problem: str, code: int) -> None:
    found, rows, problems = examined(files)
    assert (found, problem in problems) == (code, True)
    # What is not imported is nobody else's: each rail had been called overridden.
    assert ("action_overridden" in problems) == (problem == "action_overridden")
    assert code or all(row["fires"] for row in rows)


def test_flags_that_the_program_sets_are_accepted_when_told(examined: Examined) -> None:
    assert examined(NO_FLAG, "--flags-in-app")[0] == 0


def test_a_passthrough_app_without_activation_cannot_be_reached_by_a_flag(evidencerails: Run, tmp_path: Path) -> None:
    app = written(tmp_path / "app", {"config.yml": MODELS + IMPORT + GROUNDING + "passthrough: true\n"})
    done = evidencerails("doctor", app, "--flags-in-app")
    assert done.code == 1 and "set `activation: always`" in done.err


def test_the_table_names_flow_flag_and_mode(evidencerails: Run, tmp_path: Path) -> None:
    done = evidencerails("doctor", written(tmp_path / "app", {"config.yml": SOUND}))
    assert done.code == 0
    assert "check grounding │ $check_grounding │ general" in done.out


FIRST_NAME = "ground" + "rails"
UNREADABLE: list[tuple[str, dict[str, str] | None, str]] = [
    ("doctor", None, "give the folder that holds your config.yml"),
    ("doctor", {}, "no YAML file in"),
    ("doctor", {"notes.txt": "models: []"}, "no YAML file in"),
    ("doctor", {"config.yml": "models: [\n"}, "ParserError"),  # NeMo's reason
    ("doctor", {"config.yml": "# nothing\n"}, "config.yml' is empty; expected settings"),
    ("init", {"config.yml": ""}, "config.yml' is empty; expected settings"),
    ("doctor", {"config.yml": "- a\n"}, "holds a list; expected settings"),
    ("doctor", {"config.yml": SOUND.replace("{evidencerails:", f"{{{FIRST_NAME}:")}, "write 'evidencerails'"),
    ("init", {"config.yml": SOUND.replace("evidencerails/", f"{FIRST_NAME}/")}, "write 'evidencerails/plugin'"),
    ("doctor", {**COLANG_2, "main.co": COLANG_2["main.co"].replace("evidencerails.", f"{FIRST_NAME}.")},
     "write 'evidencerails.plugin'"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "files", "message"), UNREADABLE)
def test_what_is_no_config_or_has_the_first_name_of_the_product_is_wrong_usage(
    evidencerails: Run, tmp_path: Path, command: str, files: dict[str, str] | None, message: str
) -> None:
    (tmp_path / "app").touch() if files is None else (tmp_path / "app").mkdir()
    done = evidencerails(command, written(tmp_path / "app", files or {}))
    assert (done.code, done.err.count("\n")) == (2, 1) and message in done.err


def test_live_uses_the_models_of_the_config(server: ReplayServer, examined: Examined) -> None:
    server.default("The capital of France is Paris.")
    live = f"engine: openai, model: m, parameters: {{base_url: '{server.base_url}', api_key: k}}"
    yaml = SOUND.replace("engine: openai, model: gpt-4o-mini", live)
    code, rows, _ = examined(yaml.replace("check grounding", "self check hallucination"), "--live")
    assert server.requests
    assert code == 0, rows
    assert [row["mode"] for row in rows] == ["ready answer (output rails only)", "check_async"]


AGENT = "passthrough: true\nrails: {tool_output: {flows: [check tool calls]}}\n"


def test_tool_rails_are_proven_with_calls(examined: Examined) -> None:
    code, rows, codes = examined(MODELS + IMPORT + AGENT)
    assert (code, codes) == (0, set())
    assert [(row["flow"], row["clean"], row["fires"]) for row in rows] == [("check tool calls", "passed", True)]


def test_a_config_with_all_that_its_rails_need_has_no_problem(examined: Examined) -> None:
    models = MODELS + "  - {type: embeddings, engine: evidencerails, model: embedded}\n"
    files = {"config.yml": models + IMPORT + BOTH, "flows.co": DIALOG, "kb/bridge.md": "# Bridge\n\nIt opened.\n"}
    code, _, problems = examined(files)
    assert (code, problems) == (0, set())


KB = {"config.yml": SOUND, "kb/bridge.md": "# Bridge\n\nIt opened.\n"}
OFFLINE = {
    "documents and no model": (KB, 1),
    "dialog": ({"config.yml": SOUND, "flows.co": DIALOG}, 1),
    "nothing to look up": ({"config.yml": SOUND}, 0),
    "a remote service": (
        {**KB, "config.yml": SOUND.replace(IMPORT, "  - {type: embeddings, engine: openai, model: m}\n" + IMPORT)}, 0),
}  # fmt: skip


@pytest.mark.parametrize(("files", "code"), OFFLINE.values(), ids=OFFLINE.keys())
def test_an_embedding_model_that_cannot_be_downloaded_is_an_error(
    examined: Examined, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], code: int
) -> None:
    """All rails were proven with embeddings that stand in, and the first real turn ended in an internal error."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found, rows, problems = examined(files)
    assert all(row["fires"] for row in rows)
    assert (found, "embeddings_unreachable" in problems) == (code, bool(code))


ONLY_EMBEDDINGS = "rails: {{dialog: {{user_messages: {{embeddings_only: true}}}}, output: {{flows: [{}]}}}}\n"
FLOW = """
define user ask {topic}
  "{question}"

define flow {topic}
  user ask {topic}
  $check_{flag} = True
  bot tell about {topic}
"""
THREE_FLAGS = "".join(
    FLOW.format(topic=topic, question=question, flag=flag)
    for topic, question, flag in (
        ("the bridge", "When did the Halden bridge open?", "claims"),
        ("the museum", "What does a ticket cost?", "grounding"),
        ("people", "Who runs the travel desk?", "logic"),
    )
)


def test_flows_that_are_found_by_likeness_alone_each_prove_their_own_rail(examined: Examined) -> None:
    """The planted question led to the flow nearest to it, and so to another rail's flag."""
    config = MODELS + IMPORT + ONLY_EMBEDDINGS.format("check claims, check grounding, check logic")
    code, rows, _ = examined({"config.yml": config, "flows.co": THREE_FLAGS})
    assert [row["why"] for row in rows if not row["fires"]] == []
    assert code == 0


@pytest.mark.parametrize(
    ("claims", "calls"), [("", "one call"), ("own_model_calls: 3", "3 calls"), ("classifier: offline", None)]
)
def test_it_says_that_check_claims_asks_the_app_s_own_model(
    evidencerails: Run, tmp_path: Path, claims: str, calls: str | None
) -> None:
    settings = f"{{activation: always, claims: {{{claims}}}}}"
    config = SOUND.replace("{activation: always}", settings).replace("check grounding", "check claims")
    done = evidencerails("doctor", str(written(tmp_path / "app", {"config.yml": config})))
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if "[own_model_asked]" in line]
    assert len(lines) == (calls is not None)
    said = ("main model 'gpt-4o-mini'", f"at most {calls} a turn", "`claims: {classifier: offline}`")
    assert all(part in line for line in lines for part in said)
