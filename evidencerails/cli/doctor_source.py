"""A guardrails config as its author wrote it: files, flows, the rails called in them; and what a finding looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evidencerails.cli.catalog import RAILS, Rail
from evidencerails.cli.init_plan import config_files
from evidencerails.cli.init_record import read_exact

Level = Literal["error", "warning", "note"]


class Problem(NamedTuple):
    """One thing found; an error means that a rail does not fire, or not as written."""

    level: Level
    code: str
    message: str
    remedy: str = ""


class Source(NamedTuple):
    """The user's own files, and the config that NeMo makes of them."""

    folder: Path
    texts: dict[Path, str]
    config: Any

    @classmethod
    def read(cls, folder: Path, config: Any) -> Source:
        return cls(folder, {file: read_exact(file) for file in config_files(folder)}, config)

    @property
    def colang(self) -> dict[Path, str]:
        """The Colang files."""
        return {file: text for file, text in self.texts.items() if file.suffix == ".co"}

    @property
    def is_colang_2(self) -> bool:
        """True for Colang 2.x."""
        return bool(self.config.colang_version == "2.x")


def configured_rails(source: Source) -> list[Rail]:
    """Our rails among the output rails, in their order."""
    if source.is_colang_2:
        called = called_in_output_rails(source)
    else:
        called = [flow.split("$")[0].strip() for flow in source.config.rails.output.flows]
    return [RAILS[flow] for flow in called if flow in RAILS]


def called_in_output_rails(source: Source) -> list[str]:
    """Colang 2.x: the flows called in `output rails`, in their order, without arguments."""
    bodies = [body for text in source.colang.values() for name, body in flows_in(text) if name == "output rails"]
    calls = [
        m.group(1) for body in bodies for m in re.finditer(r"^[ \t]+(?:await )?([\w ]+?)[ \t]*(?:\$.*)?$", body, re.M)
    ]
    return [call for call in calls if not call.startswith(("global ", "return", "abort"))]


def custom_callers(source: Source) -> list[str]:
    """Names of the user's own output flows that call one of our actions themselves."""
    actions = {rail.action for rail in RAILS.values()}
    camel = {"".join(part.title() for part in action.split("_")) + "Action" for action in actions}
    call = re.compile(rf"\b(?:{'|'.join(sorted(actions | camel))})\b")
    bodies = {name: body for text in source.colang.values() for name, body in flows_in(text)}
    if source.is_colang_2:
        return [name for name, body in bodies.items() if call.search(body)]
    return [flow for flow in source.config.rails.output.flows if call.search(bodies.get(flow, ""))]


def flows_in(colang: str) -> Iterator[tuple[str, str]]:
    """Name and body of each flow of a Colang file, of either version."""
    heads = list(re.finditer(r"^(?:define (?:sub)?flow|flow)[ \t]*([^\n$(]*)", colang, re.MULTILINE))
    ends = [head.start() for head in heads[1:]] + [len(colang)]
    for head, end in zip(heads, ends, strict=False):
        yield head.group(1).strip(), colang[head.end() : end]
