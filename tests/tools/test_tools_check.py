"""The check `tools`: known names, valid arguments, values that exist; and every kind of bad input."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from evidencerails import Guard, Report
from evidencerails.errors import InputError, SettingsError
from evidencerails.exchange import Exchange
from evidencerails.testing import ReplayServer
from evidencerails.tool_calls import with_arguments

USERS = ("usr_1001", "usr_1002", "7")
PROPERTIES = {
    "user_id": {"type": "string"},
    "reason": {"type": "string", "enum": ["spam", "request"]},
    "user_ids": {"type": "array", "items": {"type": "string"}},
    "filter": {"type": "object"},
}
MAIL = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
TOOLS = [
    {"name": "delete_user", "parameters": {"type": "object", "properties": PROPERTIES}},
    {"name": "send_mail", "parameters": MAIL},
    {"name": "ping"},
]
EVIDENCE = ["The Halden bridge opened in 1932."]
NOTE = [{"name": "note"}]
WRONG_NOTE = [{"name": "note", "arguments": {"body": "The Halden bridge opened in 1911."}}]


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "users.jsonl"
    file.write_text("".join(json.dumps({"id": user}) + "\n" for user in USERS), encoding="utf-8")
    return {
        "resolvers": {"user_id": {"source": "users"}},
        "sources": {"users": {"kind": "jsonl", "path": str(file), "field": "id"}},
    }


def checked(tools: dict[str, Any], calls: Any, *, known: Any = TOOLS, **more: Any) -> Report:
    return Guard({"checks": ["tools"], "tools": tools, **more}).check_sync(tool_calls=calls, tools=known)


def call(name: str = "delete_user", **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def violations(report: Report) -> list[str | None]:
    return [finding.violation for finding in report.findings]


def test_a_valid_call_is_grounded(settings: dict[str, Any]) -> None:
    report = checked(settings, [call(user_id="usr_1001", reason="spam"), call("ping"), call("send_mail", to="a@b.c")])
    assert (report.status, report.decision, report.reason) == ("grounded", "allow", "all calls valid")
    assert report.hallucination_score == 0.0 and report.metrics["tool_values_looked_up"] == 1.0


def test_a_value_that_does_not_exist_is_a_hallucination(settings: dict[str, Any]) -> None:
    report = checked(settings, [call(user_id="usr_1001"), call(user_id="usr_1009")])
    assert (report.status, report.decision, report.hallucination_score) == ("hallucinated", "block", 1.0)
    (finding,) = report.findings
    assert (finding.kind, finding.violation, finding.check) == ("tool_call_hallucination", "unknown_value", "tools")
    assert finding.reason == (
        "/1/arguments/user_id: 'user_id' 'usr_1009' does not exist: no record in 'users'; "
        "did you mean 'usr_1001' or 'usr_1002'?"
    )
    assert "usr_1002" not in json.dumps(report.plain(expose_evidence=False))


def test_an_unknown_tool_shows_the_nearest_one(settings: dict[str, Any]) -> None:
    report = checked(settings, [call("delete_users", user_id="usr_1001"), call("format_disk")])
    assert violations(report) == ["unknown_tool", "unknown_tool"]
    assert report.findings[0].reason == "/0/name: there is no tool 'delete_users'; did you mean 'delete_user'?"
    assert "did you mean" not in report.findings[1].reason


@pytest.mark.parametrize(
    ("arguments", "place", "expected"),
    [
        ({"user_id": 5}, "/0/arguments/user_id", "5 is not of type 'string'"),
        ({"reason": "boredom"}, "/0/arguments/reason", "is not one of"),
        ({"usr_id": "usr_1001"}, "/0/arguments/usr_id", "has no argument 'usr_id'"),
        ({"user_ids": ["a", 3]}, "/0/arguments/user_ids/1", "3 is not of type 'string'"),
    ],
)
def test_arguments_that_do_not_fit_the_schema(
    settings: dict[str, Any], arguments: dict[str, Any], place: str, expected: str
) -> None:
    report = checked({"resolvers": {}}, [{"name": "delete_user", "arguments": arguments}])
    assert violations(report) == ["invalid_arguments"]
    assert report.findings[0].reason.startswith(place) and expected in report.findings[0].reason


def test_a_schema_that_allows_more_is_taken_at_its_word() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": True}
    assert checked({}, [call("f", b=1)], known=[{"name": "f", "parameters": schema}]).status == "grounded"
    closed = [{"name": "f", "parameters": {**schema, "additionalProperties": False}}]
    assert violations(checked({}, [call("f", b=1)], known=closed)) == ["invalid_arguments"]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("delete_user", "{broken", ["invalid_arguments"]),
        ("delete_user", '{"user_id": "usr_1001"}', []),
        ("send_mail", {}, ["invalid_arguments"]),
    ],
)
def test_arguments_are_a_json_object_with_all_that_is_required(
    settings: dict[str, Any], name: str, arguments: Any, expected: list[str]
) -> None:
    assert violations(checked(settings, [{"name": name, "arguments": arguments}])) == expected


# ---- resolvers


@pytest.mark.parametrize(
    ("resolver", "arguments", "expected"),
    [
        ("user_id", {"filter": {"user_id": "usr_9"}}, ["unknown_value"]),
        ("filter.user_id", {"filter": {"user_id": "usr_9"}}, ["unknown_value"]),
        ("filter.user_id", {"user_id": "usr_9"}, []),
        ("delete_user.user_id", {"user_id": "usr_9"}, ["unknown_value"]),
        ("send_mail.user_id", {"user_id": "usr_9"}, []),
        ("user_ids", {"user_ids": ["usr_1001", "usr_8", "usr_9"]}, ["unknown_value", "unknown_value"]),
        ("user_id", {"user_id": {"$ne": None}}, ["invalid_arguments", "unknown_value"]),
        ("user_id", {"user_id": ""}, ["unknown_value"]),
        ("user_id", {"user_id": None}, ["invalid_arguments"]),
        ("user_id", {"filter": {"user_id": 7}}, []),
        ("user_id", {"filter": {"user_id": 7.5}}, ["unknown_value"]),
        ("user_id", {"filter": {"user_id": True}}, ["unknown_value"]),
    ],
)
def test_a_resolver_finds_its_values(
    settings: dict[str, Any], resolver: str, arguments: dict[str, Any], expected: list[str]
) -> None:
    report = checked({**settings, "resolvers": {resolver: {"source": "users"}}}, [call(**arguments)])
    assert violations(report) == expected


def test_the_most_specific_resolver_counts(settings: dict[str, Any]) -> None:
    resolvers = {"user_id": {"source": "users"}, "delete_user.user_id": {"function": lambda _: True}}
    assert violations(checked({**settings, "resolvers": resolvers}, [call(user_id="anything")])) == []


def test_a_value_may_be_in_one_of_several_sources_those_of_knowledge_too(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text("id\nusr_0001\n", encoding="utf-8")
    knowledge = {"sources": {**settings["sources"], "old": {"kind": "csv", "path": str(tmp_path / "old.csv")}}}
    resolvers = {"resolvers": {"user_id": {"sources": ["users", "old"]}}}
    calls = [call(user_id=user) for user in ("usr_0001", "usr_1001", "usr_0002")]
    for report in (checked({**knowledge, **resolvers}, calls), checked(resolvers, calls, knowledge=knowledge)):
        assert [finding.reason.split(" does")[0] for finding in report.findings] == [
            "/2/arguments/user_id: 'user_id' 'usr_0002'"
        ]


def fails(_: Any) -> bool:
    raise RuntimeError("s3cret")


@pytest.mark.parametrize(
    ("function", "expected"),
    [(fails, "failed: RuntimeError"), (lambda v: threading.Event().wait(), "timeout"), (len, "bad_answer")],
)
def test_a_resolver_that_fails_leaves_the_calls_unverified(function: Any, expected: str) -> None:
    report = checked({"resolvers": {"user_id": {"function": function}}, "budget_s": 0.3}, [call(user_id="usr_1001")])
    assert (report.status, report.hallucination_score) == ("unverified", None)
    assert expected in report.reason or "budget_spent" in report.reason
    assert "s3cret" not in json.dumps(report.plain())


@pytest.mark.parametrize("text", ["' OR 1=1 --", 'x"; DROP TABLE users', "%", "\0", "\ud800", "usr_1001\n"])
def test_hostile_values_do_not_exist(settings: dict[str, Any], text: str) -> None:
    assert violations(checked(settings, [call(user_id=text)])) == ["unknown_value"]


def test_a_lookup_over_http_is_verified_refuted_or_unverified(server: ReplayServer) -> None:
    url = f"{server.base_url}/users/{{value}}"
    sources = {"users": {"kind": "http", "url": url, "allow_private": True}}
    report = checked({"resolvers": {"user_id": {"source": "users"}}, "sources": sources}, [call(user_id="u1")])
    assert report.status == "unverified" and "bad_status" in report.reason


# ---- schemas


def nested(value: Any, times: int = 5_000) -> Any:
    for _ in range(times):
        value = {"properties": {"a": value}}
    return value


@pytest.mark.parametrize(  # further schemas: tests/structure/test_structure_bad_input.py
    ("schema", "expected"),
    [
        ({"$ref": "https://evil.example/schema.json"}, "never fetched"),
        ("not a schema", "bad_schema"),
        ({"properties": {"a": {"pattern": r"^(a|aa|a?a)*(b|c)+$"}}}, "pattern_timeout"),
    ],
)
def test_a_schema_that_cannot_be_used_leaves_the_call_unverified(schema: Any, expected: str) -> None:
    report = checked({}, [call("f", a="a" * 60 + "!")], known=[{"name": "f", "parameters": schema}])
    assert report.status == "unverified" and expected in report.reason, report.reason


def test_many_calls_are_counted_and_listed_in_part(settings: dict[str, Any]) -> None:
    many = [call(user_id="x1"), call(user_id="x2")] * 75
    report = checked({**settings, "budget_s": 60.0}, many)
    assert (report.status, len(report.findings), report.metrics["tool_calls_unknown_value"]) == (
        "hallucinated",
        100,
        150,
    )
    report = checked({**settings, "budget_s": 60.0, "max_calls": 100}, [call(user_id="usr_1001")] * 101)
    assert report.status == "unverified" and "too_many_calls: 101, tools.max_calls is 100" in report.reason


# ---- what is not known


def test_deep_nesting_does_no_harm(settings: dict[str, Any]) -> None:
    report = checked(settings, [call(filter=nested({"user_id": "usr_1001"}))])
    assert report.status == "unverified" and "too_deep" in report.reason
    report = checked({}, [call("f", a=1)], known=[{"name": "f", "parameters": nested({"type": "string"})}])
    assert report.status == "unverified" and "bad_schema" in report.reason
    note = [call("note", filter=nested(EVIDENCE[0]))]
    report = Guard().check_sync(tool_calls=note, tools=NOTE, evidence=EVIDENCE)
    assert report.status == "unverified" and "too_deep" in report.reason and report.claims == ()
    note[0]["arguments"]["body"] = "The Halden bridge opened in 1911."
    assert Guard().check_sync(tool_calls=note, tools=NOTE, evidence=EVIDENCE).status == "hallucinated"
    quoting = [call("note", body="The arguments of a tool call are nested deeper than 30 levels.")]
    report = Guard().check_sync(tool_calls=quoting, tools=NOTE, evidence=[quoting[0]["arguments"]["body"]])
    assert report.status == "grounded"


@pytest.mark.parametrize(
    ("user_id", "status", "violation"), [("usr_1001", "unverified", []), ("usr_9", "hallucinated", ["unknown_value"])]
)
def test_without_tools_names_cannot_be_verified_but_values_can(
    settings: dict[str, Any], user_id: str, status: str, violation: list[str]
) -> None:
    report = checked(settings, [call(user_id=user_id)], known=None)
    assert (report.status, violations(report)) == (status, violation)
    assert report.reason.startswith("no_tools") or violation


def test_tools_of_the_settings_stand_in(settings: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    tools = {**settings, "definitions": str(tmp_path / "tools.json")}
    assert checked(tools, [call(user_id="usr_1001")], known=None).status == "grounded"
    assert violations(checked(tools, [call("rm")], known=None)) == ["unknown_tool"]


@pytest.mark.parametrize("given", [{"response": "Hello."}, {"tool_calls": []}])
def test_without_calls_there_is_nothing_to_do(settings: dict[str, Any], given: dict[str, Any]) -> None:
    """An agent passes on what its model returned; most turns call nothing, some hold no text of their own either."""
    report = Guard({"checks": ["tools"], "tools": settings}).check_sync(tools=TOOLS, **given)
    tools = report.checks["tools"]
    assert (report.status, tools.status, tools.reason) == ("grounded", "skipped", "no_tool_calls")
    with pytest.raises(InputError, match="response is missing"):
        Guard({"checks": ["tools"]}).check_sync(tools=TOOLS)


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ({"resolvers": {"user_id": {"source": "users"}}}, "neither in tools.sources nor in knowledge.sources"),
        ({"resolvers": {"user_id": {}}}, "give one of 'source', 'sources' and 'function'"),
        ({"resolvers": {"user_id": {"sorce": "x"}}}, "'tools.resolvers.user_id.sorce'; did you mean 'source'"),
        ({"definitions": "nowhere.json"}, "there is no file"),
        ({"resolvers": {"user_id": {"function": "no_such_module:f"}}}, "cannot import"),
        ({"max_calls": 0}, "tools.max_calls"),
    ],
)
def test_settings_that_cannot_work_are_named_at_load(tools: dict[str, Any], expected: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Guard({"tools": tools})
    assert expected in str(caught.value)


def test_policies_decide_on_the_violation(settings: dict[str, Any]) -> None:
    policies = [{"when": {"violation": "invalid_arguments"}, "then": "warn"}]
    assert checked(settings, [call(reason="boredom")], policies=policies).decision == "warn"
    assert checked(settings, [call(user_id="usr_9")], policies=policies).decision == "block"


@pytest.mark.parametrize(
    "text", ["", *EVIDENCE, '{"opened": 1932}', ' [{"opened": 1932}]\n', '```json\n{"opened": 1932}\n```']
)
def test_what_arguments_state_is_a_claim(text: str) -> None:
    report = Guard().check_sync(text, tool_calls=WRONG_NOTE, tools=NOTE, evidence=EVIDENCE)
    assert (report.status, report.claims[-1].label) == ("hallucinated", "contradicted")
    checked = with_arguments(Exchange.of(text, tool_calls=WRONG_NOTE, evidence=EVIDENCE)).response
    assert checked.startswith(text)
    assert all(checked[c.span.start : c.span.end] == c.span.text for c in report.claims)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({"body": "The Halden bridge opened in 1911."}, "unverified"),  # a sentence needs evidence
        ({"city": "Oslo", "nights": 3}, "grounded"),  # mere parameters, which fit
        ({"query": "The Halden bridge opened in 1911."}, "grounded"),
    ],
)
def test_arguments_without_evidence(arguments: dict[str, Any], status: str) -> None:
    report = Guard().check_sync(tool_calls=[call("note", **arguments)], tools=NOTE)
    assert report.status == status, report.reason


def test_a_choice_of_the_schema_and_the_users_words_state_nothing() -> None:
    known = [{"name": "note", "parameters": {"type": "object", "properties": {"mood": {"enum": ["glad", "sad"]}}}}]
    asked = {"tool_calls": [call("note", mood="glad", city="Oslo")], "tools": known, "prompt": "Is it Oslo?"}
    assert with_arguments(Exchange.of("", evidence=EVIDENCE, **asked)).response == ""


def test_arguments_are_not_written_again(server: ReplayServer) -> None:
    settings = {
        "llm": {"model": "m", "base_url": server.base_url, "api_key": "k"},
        "policies": [{"when": {"label": "contradicted"}, "then": "regenerate"}],
    }
    report = Guard(settings).check_sync("Noted.", tool_calls=WRONG_NOTE, tools=NOTE, evidence=EVIDENCE)
    assert (report.decision, report.answer, report.repair) == ("block", None, None)
    assert report.decided_by.endswith("calls are not written again: block")
