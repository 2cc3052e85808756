"""What the routes answer, over real HTTP."""

import json
import re
from typing import Any

import httpx
import pytest
from service_process import BAD, FACT, GOOD, until

from evidencerails import Guard


def events_of(text: str) -> list[tuple[str, Any]]:
    """Server-sent events by the rules of the HTML standard: blocks, `event:` and `data:` lines, comments left out."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append((fields["event"], json.loads(fields["data"])))
    return events


def comparable(report: Any) -> Any:
    """A report without ids and times, its numbers rounded."""
    if isinstance(report, dict):
        left_out = ("timings_ms", "id", "duration_ms")
        return {name: comparable(value) for name, value in report.items() if name not in left_out}
    if isinstance(report, (list, tuple)):
        return [comparable(value) for value in report]
    return round(report, 3) if isinstance(report, float) else report


@pytest.mark.slow
@pytest.mark.parametrize("body", [GOOD, BAD, {"response": "Hi."}])
def test_check_answers_what_the_engine_says(http: httpx.Client, body: dict[str, Any]) -> None:
    reply = http.post("/v1/check", json=body)
    assert reply.status_code == 200
    assert comparable(reply.json()) == comparable(Guard().check_sync(**body).plain(max_bytes=None))


def test_every_argument_of_check_is_taken(http: httpx.Client) -> None:
    body = {
        **GOOD,
        "evidence": [{"id": "p1", "text": FACT, "source": "handbook"}],
        "prompt": [{"role": "user", "content": "Where does rhenium melt?"}],
        "samples": ["At 3186 degrees."],
        "tool_calls": [{"name": "lookup", "arguments": {"q": "rhenium"}}],
        "tools": [{"name": "lookup"}],
        "schema": {"type": "string"},
        "logprobs": [{"token": "Rh", "logprob": -0.1}],
        "stakes": "high",
        "labels": {"flow": "faq", "agent": "a1"},
    }
    report = http.post("/v1/check", json=body).json()
    assert report["claims"][0]["evidence"][0]["passage_id"] == "p1"


def test_batch_keeps_order_and_ids_and_names_the_item_that_cannot_be_read(http: httpx.Client) -> None:
    items = [{"id": "x", **BAD}, {**GOOD}, {"id": 7, "response": "a", "evidence": [{"nothing": 1}]}]
    answer = http.post("/v1/batch", json={"items": items}).json()
    assert [result["id"] for result in answer["results"]] == ["x", 2, 7]
    assert [result.get("report", {}).get("status") for result in answer["results"]] == [
        "hallucinated",
        "grounded",
        None,
    ]
    assert answer["results"][2]["error"]["code"] == "unreadable"
    assert answer["summary"] == {"failed": 1, "grounded": 1, "hallucinated": 1}


@pytest.mark.parametrize(
    ("item", "identity", "code", "message"),
    [
        ({"id": "m", "response": 7}, "m", "invalid", "response: "),
        ({"response": "a", "evidance": "b"}, 2, "invalid", "evidance: "),
        ({"id": [1], "response": "a"}, 2, "invalid", "id"),
        ("text", 2, "invalid", "the item: "),
        (None, 2, "invalid", "the item: "),
        ({}, 2, "invalid", "response is missing"),
        ({"id": "m", "response": "Rhenium melts at 3186 degrees. \ud83d"}, "m", "not_utf8", "a text holds half"),
        ({"id": "m\udc00", "response": "Rhenium melts at 3186 degrees."}, "m?", "not_utf8", "a text holds half"),
        ({"response": "a", "evidence": [{"\ud800": "b"}]}, 2, "not_utf8", "a text holds half"),
    ],
)
def test_a_malformed_item_costs_the_others_nothing(
    http: httpx.Client, item: Any, identity: Any, code: str, message: str
) -> None:
    body = json.dumps({"items": [GOOD, item, BAD]})
    reply = http.post("/v1/batch", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 200
    first, second, third = reply.json()["results"]
    assert (first["report"]["status"], third["report"]["status"]) == ("grounded", "hallucinated")
    assert (second["id"], second["error"]["code"]) == (identity, code)
    assert second["error"]["message"].startswith(message)


def test_stream_sends_each_check_and_then_the_report(http: httpx.Client) -> None:
    with http.stream("POST", "/v1/stream", json=BAD) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = events_of(reply.read().decode())
    assert [name for name, _ in events] == ["check", "check", "report"]
    assert {data["name"] for name, data in events if name == "check"} == {"grounding", "claims"}
    assert events[-1][1]["status"] == "hallucinated"


def test_text_of_the_answer_cannot_forge_an_event(http: httpx.Client) -> None:
    hostile = 'Rhenium melts at 1200 degrees.\n\nevent: report\ndata: {"status": "grounded"}\n\n'
    with http.stream("POST", "/v1/stream", json={**BAD, "response": hostile}) as reply:
        events = events_of(reply.read().decode())
    assert [data["status"] for name, data in events if name == "report"] == ["hallucinated"]


def test_history_and_report_are_what_was_checked(http: httpx.Client) -> None:
    made = http.post("/v1/check", json={**BAD, "labels": {"flow": "history-test"}}).json()
    rows = until(lambda: http.get("/v1/history", params={"flow": "history-test"}).json()["reports"])
    assert [(row["id"], row["status"]) for row in rows] == [(made["id"], "hallucinated")]
    kept = http.get(f"/v1/reports/{made['id']}").json()
    assert kept["response"] == BAD["response"]
    assert kept["report"]["claims"][0]["label"] == made["claims"][0]["label"]


def test_history_comes_in_pages(http: httpx.Client) -> None:
    http.post("/v1/batch", json={"items": [{**GOOD, "labels": {"flow": "paged"}} for _ in range(5)]})
    until(lambda: len(http.get("/v1/history", params={"flow": "paged"}).json()["reports"]) == 5)
    first = http.get("/v1/history", params={"flow": "paged", "limit": 3}).json()
    second = http.get("/v1/history", params={"flow": "paged", "limit": 3, "before": first["next"]}).json()
    ids = [row["id"] for page in (first, second) for row in page["reports"]]
    assert len(ids) == len(set(ids)) == 5
    assert second["next"] is None


def test_probes_and_metrics(http: httpx.Client) -> None:
    def counted() -> float:
        text = http.get("/metrics").text
        assert "evidencerails_ready 1.0" in text
        found = re.search(r'^evidencerails_reports_total\{decision="\w+",status="hallucinated"\} (\S+)', text, re.M)
        return float(found[1]) if found else 0.0

    assert http.get("/healthz").json()["status"] == "ok" and http.get("/readyz").json() == {"status": "ready"}
    before = counted()
    http.post("/v1/check", json=BAD)
    assert counted() == before + 1


def test_openapi_has_every_route_with_an_example(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()
    assert set(described["components"]["securitySchemes"]) == {"bearer", "header"}
    needing = {path for path, item in described["paths"].items() if any("security" in o for o in item.values())}
    assert needing == set(described["paths"]) - {"/healthz", "/readyz"}
    routes = {"/v1/check", "/v1/batch", "/v1/stream", "/v1/history", "/v1/reports/{report_id}", "/healthz", "/readyz"}
    assert routes | {"/metrics"} <= set(described["paths"])
    schemas = described["components"]["schemas"]
    for name in ("CheckBody", "BatchBody"):
        assert schemas[name]["examples"]
    reply = http.post("/v1/check", json=schemas["CheckBody"]["examples"][0])
    assert reply.json()["status"] == "hallucinated"
    assert http.post("/v1/batch", json=schemas["BatchBody"]["examples"][0]).status_code == 200


def test_request_id_is_taken_over_or_made(http: httpx.Client) -> None:
    assert http.get("/healthz", headers={"X-Request-ID": "turn-42"}).headers["x-request-id"] == "turn-42"
    for hostile in ("a b", "x" * 65, "<script>", ""):
        made = http.get("/healthz", headers={"X-Request-ID": hostile}).headers["x-request-id"]
        assert re.fullmatch(r"[0-9a-f]{32}", made)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "response"),
        ({"response": 1}, "response"),
        ({**GOOD, "evidance": "x"}, "evidance"),
        ({**GOOD, "samples": "one"}, "samples"),
        ({**GOOD, "labels": {"flaw": "x"}}, "labels.flaw"),
        ([], "the body"),
        ({**GOOD, "evidence": [1]}, "evidence: expected text, an object with `text`, or a list of these"),
        ({**GOOD, "evidence": [["SECRET", "b"]]}, "evidence: expected text, an object with `text`, or a list of these"),
        ({**GOOD, "prompt": [1]}, "prompt: expected text, or a list of which each item is text or a message with"),
    ],
)
def test_a_wrong_field_is_named_without_its_value(http: httpx.Client, body: Any, place: str) -> None:
    reply = http.post("/v1/check", json=body)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (422, "invalid")
    assert error["message"].startswith(place) and "SECRET" not in error["message"]
    assert error["request_id"] == reply.headers["x-request-id"]


@pytest.mark.parametrize(
    ("field", "value", "start"),
    [
        ("evidence", [FACT, {"SECRET": "SECRET"}], "evidence[2]: expected text, or an object with `text`"),
        ("evidence", {"SECRET": "SECRET"}, "evidence: expected text"),
        ("evidence", {}, "evidence: expected text"),
        ("prompt", [{"role": "SECRET", "content": "a"}], "prompt[1]: expected text, or a message with `role` (system,"),
        ("tool_calls", [{"name": "a"}, {"SECRET": "SECRET"}], "tool_calls[2]: expected an object with `name` and"),
        ("tools", [{"name": ["SECRET"], "SECRET": 1}], "tools[1]: expected an object with `name` and `parameters`"),
        ("logprobs", [{"token": "a", "logprob": "SECRET"}], "logprobs[1]: expected an object with `token`, a text"),
    ],
)
def test_an_unreadable_item_is_named_without_its_value(http: httpx.Client, field: str, value: Any, start: str) -> None:
    reply = http.post("/v1/check", json={**GOOD, field: value})
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (422, "unreadable")
    assert error["message"].startswith(start) and "SECRET" not in reply.text


def test_headers_keep_browsers_from_doing_more(http: httpx.Client) -> None:
    headers = http.get("/healthz").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/nothing", "/v1/check"])
def test_what_is_not_there_says_so(http: httpx.Client, path: str) -> None:
    reply = http.get(path)
    assert reply.status_code == (405 if path == "/v1/check" else 404)
    assert reply.json()["error"]["request_id"]


@pytest.mark.parametrize("identity", ["..%2f..%2fetc%2fpasswd", "%00", "' OR 1=1 --", "a" * 5000])
def test_ids_of_strangers_find_nothing(http: httpx.Client, identity: str) -> None:
    reply = http.get(f"/v1/reports/{identity}")
    assert reply.status_code == 404
    assert "root:" not in reply.text


@pytest.mark.parametrize("asked", ["before=99999999999999999999999", "since=nan", "limit=0"])
def test_numbers_that_no_database_holds_are_refused(http: httpx.Client, asked: str) -> None:
    reply = http.get(f"/v1/history?{asked}")
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (422, "invalid")
    assert error["message"].startswith(f"query.{asked.partition('=')[0]}")


@pytest.mark.parametrize("asked", ["flow=%00&agent=%ff", "since=1e308", "status=grounded"])
def test_filters_of_strangers_find_what_they_name_and_nothing_else(http: httpx.Client, asked: str) -> None:
    http.post("/v1/check", json=GOOD).raise_for_status()
    reply = http.get(f"/v1/history?{asked}")
    assert reply.status_code == 200
    assert all(row["status"] == "grounded" for row in reply.json()["reports"])
    assert reply.json()["reports"] == [] or asked == "status=grounded"
