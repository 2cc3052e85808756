"""Log lines: one line each, whatever is in them."""

import json
import logging

import pytest

from evidencerails.operations.telemetry.logs import JsonLines, TextLines, request_context, request_id, trace_id

HOSTILE = 'a\nERROR forged line\r\x1b[31m\u202e{"level": "CRITICAL"}'


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("evidencerails", logging.INFO, __file__, 1, message, (), None)


def test_a_json_line_is_one_object_with_both_ids() -> None:
    parent = [(b"traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
    with request_context("turn-1", parent):
        line = JsonLines().format(record(HOSTILE))
    data = json.loads(line)
    assert "\n" not in line and data["message"] == HOSTILE
    assert (data["request_id"], data["level"]) == ("turn-1", "INFO")
    assert data["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_a_text_line_has_no_control_characters() -> None:
    line = TextLines().format(record(HOSTILE))
    assert "\n" not in line and "\x1b" not in line and "\u202e" not in line


@pytest.mark.parametrize("header", [b"", b"00-zz", b"00-4bf92f3577b34da6a3ce929d0e0e4736", b"\xff" * 55])
def test_a_broken_traceparent_is_no_trace(header: bytes) -> None:
    with request_context("x", [(b"traceparent", header)]):
        assert request_id() == "x"
        assert len(trace_id()) in (0, 32)
    assert request_id() == ""
