"""A guardrails config as its author wrote it: files, flows, and the rails called in them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evidencerails.adapters.nemo_rails import RAILS, Rail, flow_name
from evidencerails.errors import InputError

_NOT_COPIED = shutil.ignore_patterns(".git", "__pycache__", ".venv", "venv", "node_modules", ".evidencerails-init.json")
_CALLS = re.compile(r"^[ \t]+(?:await )?([\w ]+?)[ \t]*(?:\$.*)?$", re.MULTILINE)
_SETS = re.compile(r"^[ \t]*\$(\w+)[ \t]*=(?!=)(?![ \t]*False\b)", re.MULTILINE)


class Source(NamedTuple):
    """The user's own files, and the config that NeMo makes of them."""

    folder: Path
    texts: dict[Path, str]
    config: Any

    @classmethod
    def read(cls, folder: Path, config: Any) -> Source:
        """The files of a folder. `InputError`: one is not UTF-8."""
        return cls(folder, {file: read_exact(file) for file in config_files(folder)}, config)

    @property
    def colang(self) -> dict[Path, str]:
        return {file: text for file, text in self.texts.items() if file.suffix == ".co"}

    @property
    def flows(self) -> list[tuple[str, str]]:
        return [flow for text in self.colang.values() for flow in flows_in(text)]

    @property
    def is_colang_2(self) -> bool:
        return bool(self.config.colang_version == "2.x")


def config_files(folder: Path) -> list[Path]:
    """The YAML and Colang files of a config folder in the order in which NeMo reads them."""
    found = []
    for root, _, files in os.walk(folder, followlinks=True):
        inside_kb = os.path.relpath(root, folder).split(os.sep)[0].startswith("kb")
        found += [Path(root) / f for f in files if f.endswith((".yml", ".yaml", ".co")) and not inside_kb]
    return found


def read_exact(file: Path) -> str:
    """The file's text with its line ends as they are. `InputError`: it is not UTF-8."""
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{str(file)!r} is not UTF-8 text; NeMo cannot read it either") from None


@contextmanager
def copied(folder: Path) -> Iterator[Path]:
    """A copy of a config folder that may be changed; it goes with the block."""
    with tempfile.TemporaryDirectory(prefix="evidencerails-", ignore_cleanup_errors=True) as place:
        yield Path(shutil.copytree(folder, Path(place) / "config", ignore=_NOT_COPIED))


def configured_rails(source: Source) -> list[Rail]:
    if source.is_colang_2:
        called = called_in_output_rails(source)
    else:
        called = [flow_name(flow) for flow in source.config.rails.output.flows]
    return [RAILS[flow] for flow in called if flow in RAILS]


def called_in_output_rails(source: Source) -> list[str]:
    """Colang 2.x: the flows called in `output rails`, in their order, without arguments."""
    return [call for name, body in source.flows if name == "output rails" for call in calls_in(body)]


def calls_in(body: str) -> list[str]:
    """Colang 2.x: the flows that a flow calls, in their order, without arguments."""
    return [one for one in _CALLS.findall(body) if not one.startswith(("global ", "return", "abort"))]


def custom_callers(source: Source) -> list[str]:
    """Names of the user's own output flows that call one of our actions themselves."""
    actions = {rail.action for rail in RAILS.values()}
    camel = {"".join(part.title() for part in action.split("_")) + "Action" for action in actions}
    call = re.compile(rf"\b(?:{'|'.join(sorted(actions | camel))})\b")
    calling = [name for name, body in source.flows if call.search(body)]
    return calling if source.is_colang_2 else [one for one in source.config.rails.output.flows if one in calling]


def flows_in(colang: str) -> Iterator[tuple[str, str]]:
    """Name and body of each flow of a Colang file, of either version."""
    heads = list(re.finditer(r"^(?:define (?:sub)?flow|flow)[ \t]*([^\n$(]*)", colang, re.MULTILINE))
    ends = [head.start() for head in heads[1:]] + [len(colang)]
    for head, end in zip(heads, ends, strict=False):
        yield head.group(1).strip(), colang[head.end() : end]


def variables_set(colang: Iterable[str]) -> set[str]:
    """Names of the variables that Colang texts of either version set, to anything but False; comments do not count."""
    return {name for text in colang for name in _SETS.findall(text)}
