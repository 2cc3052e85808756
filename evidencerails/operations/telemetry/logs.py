"""Log lines with the id of the request and of the trace: text for people, or one JSON object a line."""

from __future__ import annotations

import datetime
import json
import logging
import sys
from typing import Literal

from evidencerails.operations.telemetry.context import request_id, trace_id


class JsonLines(logging.Formatter):
    """One JSON object a line; the message is data in it, so no text can break or forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.datetime.fromtimestamp(record.created, datetime.timezone.utc)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id() or None,
            "trace_id": trace_id() or None,
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in line.items() if value is not None})


class TextLines(logging.Formatter):
    """Time, level, message and ids, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        from evidencerails.text.visible import visible

        moment = self.formatTime(record, "%H:%M:%S")
        ids = [f"{name}={value}" for name, value in (("request", request_id()), ("trace", trace_id())) if value]
        line = " ".join([moment, record.levelname, visible(record.getMessage(), one_line=True), *ids])
        return line + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


def log_to_stderr(form: Literal["text", "json"], level: int = logging.INFO) -> None:
    """Send our logs to standard error, and warnings of others; NeMo's own stays off (it logs prompts)."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("evidencerails").setLevel(level)
    logging.getLogger("nemoguardrails").setLevel(logging.ERROR)
