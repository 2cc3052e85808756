"""Writes the parts of the documentation that the program knows better: settings, rails, prompts, help, real output.

    python docs/generate.py          # writes; tests/test_docs.py fails if that would change anything

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`. In README.md and docs/*.md the output below each
`$ evidencerails ...` line of a `console` block is what the command printed, run in a folder with the files of `FILES`.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
SCHEMA = ROOT / "configs" / "evidencerails.schema.json"
COLUMNS = 100
TYPE_NAMES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "`true`, `false`",
    "SecretStr": "text",
}
FILES = {
    "returns.txt": "Items can be returned within 30 days of delivery. Refunds are paid within 5 business days.\n",
    "app/config.yml": "models:\n  - type: main\n    engine: openai\n    model: gpt-4o-mini   # our cheapest\n",
}


def main() -> None:
    """Rewrite every page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = generated(with_real_output(text))
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")
    SCHEMA.write_text(schema_text(), encoding="utf-8")


def schema_text() -> str:
    """The schema that the configs name for editors."""
    from evidencerails.cli.schema import config_schema

    return json.dumps(config_schema(), indent=1) + "\n"


def generated(text: str) -> str:
    """The page with its generated parts made anew."""
    part = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return part.sub(lambda match: f"{match[1]}{PARTS[match[2]]()}\n{match[3]}", text)


def with_real_output(text: str) -> str:
    """The page with the output of its commands as they print it now."""
    block = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return block.sub(lambda match: f"```console\n{_transcript(match[1])}```", text)


def _transcript(block: str) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    if not commands or not all(command.startswith("evidencerails ") for command in commands):
        return block
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(text, encoding="utf-8")
        return "".join(f"$ {command}\n{_output(command, folder)}" for command in commands)


def _output(command: str, folder: str) -> str:
    """What a command prints to both streams, without blanks at line ends."""
    words = shlex.split(command, comments=True)[1:]
    environment = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "DO_NOT_TRACK": "1",
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, "-m", "evidencerails", *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False,
    )  # fmt: skip
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.rstrip().splitlines())


def settings_table() -> str:
    """Every key of the settings with its values, default and meaning."""
    from evidencerails.config import GuardConfig

    rows = ["| key | values | default | meaning |", "|---|---|---|---|"]
    for key, values, default, meaning in _keys(GuardConfig, ""):
        cells = (f"`{key}`", values, f"`{default}`" if default else "", meaning)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _keys(model: Any, path: str) -> Iterator[tuple[str, str, str, str]]:
    meanings = _docstrings(model)
    for name, field in model.model_fields.items():
        key = path + (field.alias or name)
        inner, is_list = _section(field.annotation)
        if inner is not None and get_origin(field.annotation) is dict:
            yield key, "sections by name", "{}", meanings.get(name, "")
            yield from _keys(inner, f"{key}.*.")
        elif inner is not None and not is_list:
            if field.default is None:
                yield key, "section", "unset", meanings.get(name) or _first_line(inner)
            yield from _keys(inner, f"{key}.")
        elif inner is not None:
            yield key, "list", "[]", meanings.get(name, "")
            yield from _keys(inner, f"{key}[].")
        else:
            yield key, _values(field.annotation), _default(field), meanings.get(name) or _first_line(model)


def _section(annotation: Any) -> tuple[Any, bool]:
    if hasattr(annotation, "model_fields"):
        return annotation, False
    for argument in get_args(annotation):
        inner, _ = _section(argument)
        if inner is not None:
            return inner, get_origin(annotation) in (tuple, list)
    return None, False


def _values(annotation: Any) -> str:
    """The values of a key in words: choices, or the type."""
    if annotation is type(None):
        return ""
    arguments = get_args(annotation)
    if "Literal" in str(get_origin(annotation)):
        return ", ".join(f"`{argument}`" for argument in arguments)
    if get_origin(annotation) is tuple:
        return f"list of {_values(arguments[0])}"
    if arguments:
        parts = list(dict.fromkeys(part for argument in arguments if (part := _values(argument))))
        if len(parts) == 2 and parts[1] == f"list of {parts[0]}":
            return f"{parts[0]}; one or a list"
        return " or ".join(parts)
    return {
        "str": "text",
        "int": "whole number",
        "float": "number",
        "bool": "`true`, `false`",
        "SecretStr": "text",
        "Any": "text",
    }.get(annotation.__name__, annotation.__name__)


def _default(field: Any) -> str:
    if field.is_required():
        return ""
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return str(value).lower()
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, tuple) else str(value)


def _docstrings(model: Any) -> dict[str, str]:
    """The strings under the attributes, which exist in the source only."""
    found: dict[str, str] = {}
    for base in reversed([base for base in model.__mro__ if base.__module__ == model.__module__]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, following in zip(body.body, body.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
                text = getattr(following.value, "value", None)
                if isinstance(text, str) and isinstance(statement.target, ast.Name):
                    found[statement.target.id] = " ".join(text.split())
    return found


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0]


def default_decisions() -> str:
    """What each kind of finding leads to without a policy, as the engine decides it."""
    from evidencerails.policy import NONEXISTENT_SOURCE, default_decision
    from evidencerails.report import Finding, FindingKind

    finer: dict[str, list[dict[str, Any]]] = {
        "unsupported_claim": [{"label": name} for name in ("contradicted", "absent", "partially_supported")],
        "citation_violation": [{"violation": NONEXISTENT_SOURCE}, {"violation": "any other"}],
    }
    rows = ["| finding | default |", "|---|---|"]
    for kind in get_args(FindingKind):
        for more in finer.get(kind, [{}]):
            finding = Finding.model_construct(kind=kind, **more)
            named = "".join(f", {key} `{value}`".replace("`any other`", "any other") for key, value in more.items())
            rows.append(f"| `{kind}`{named} | {default_decision(finding)} |")
    return "\n".join(rows)


def rails_table() -> str:
    """Flow, flag, action, check, message and exception of each rail."""
    from evidencerails.adapters.nemo_rails import RAILS

    rows = ["| flow | flag | action | check | blocked: the user reads | exception |", "|---|---|---|---|---|---|"]
    for rail in RAILS.values():
        message = f"`bot {rail.message}`" if rail.can_block else f"the answer, then `bot {rail.message}`"
        exception = f"`{rail.exception}`" if rail.exception else "-"
        rows.append(f"| `{rail.flow}` | `${rail.flag}` | `{rail.action}` | `{rail.check}` | {message} | {exception} |")
    return "\n".join(rows)


def prompts_table() -> str:
    """Task and version of each prompt."""
    from evidencerails.llm.prompts import PromptLibrary

    library = PromptLibrary.load()
    rows = ["| task | version |", "|---|---|", *(f"| `{task}` | `{library.version(task)}` |" for task in library.tasks)]
    return "\n".join(rows)


def help_texts() -> str:
    """The help of every command."""
    texts = [
        f"## evidencerails {name}\n\n```text\n{_output(f'evidencerails {name} --help', '.')}```" for name in _commands()
    ]
    return "\n\n".join(texts)


def _commands() -> list[str]:
    from evidencerails.cli.main import app

    names = [command.name for command in app.registered_commands if command.name]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        names += [f"{group.name} {one.name}" for one in group.typer_instance.registered_commands if one.name]
    return names


def redteam_categories() -> str:
    """The attacks, by what their makers say of them."""
    from evidencerails.evaluation.redteam.attacks import KINDS
    from evidencerails.evaluation.redteam.generation import GENERATORS

    lines = ["| category | attack | expected | named by |", "|---|---|---|---|"]
    for name, maker in GENERATORS.items():
        told = (inspect.getdoc(maker) or "").rstrip(".")
        named = ", ".join(f"`{one}`" for one in sorted(KINDS[name].named_by)) or "-"
        lines.append(f"| `{name}` | {told} | {KINDS[name].expected.replace('_', ' ')} | {named} |")
    return "\n".join(lines)


def evaluation_datasets() -> str:
    """Name, files and hub name of each public data set."""
    from evidencerails.evaluation.datasets.sources import SOURCES

    rows = ["| name | files | on the hub |", "|---|---|---|"]
    for name, source in SOURCES.items():
        hub = f"`{source.hub.path}`" if source.hub else "-"
        rows.append(f"| `{name}` | {', '.join(f'`{file}`' for file in source.files)} | {hub} |")
    return "\n".join(rows)


def benchmark(name: str) -> str:
    """A measured table of docs/benchmarks.md, so that no page has a figure of its own."""
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name} -->\n(.*?)\n?<!-- end {name} -->", text, re.DOTALL)
    if found is None:
        raise SystemExit(f"docs/benchmarks.md has no part {name!r}: put <!-- {name} --> ... <!-- end {name} --> there")
    return found[1]


SIZING_CLIENTS = 8
"""Row of the measured load that sizing rests on: busy, but not yet a queue."""
SIZING_USE = 0.7
"""Part of a service's rate that is planned with: beyond it queues grow."""
SPARE = 1
"""Services that may be away at once."""
PLANNED = (5, 50, 500, 5000)
"""Answers a second at the busiest minute."""
QUIET = 0.2
"""Mean load of a day as a part of its busiest minute: what the store's size is planned with."""
KEEP_DAYS = 90


def sizing() -> str:
    """How many services and how much disk, from the measured figures, with the arithmetic."""
    load = json.loads((ROOT / "benchmarks" / "service.json").read_text(encoding="utf-8"))["load"]
    kept = json.loads((ROOT / "benchmarks" / "store.json").read_text(encoding="utf-8"))
    row = next(row for row in load["result"]["rows"] if row["clients"] == SIZING_CLIENTS)["service"]
    rate, machine, rss_mb = row["per_s"], load["machine"], load["result"]["rss_mb"]
    kb = kept["result"]["bytes_a_report"] / 1000
    lines = [
        f"Measured on {machine['processor']}, {machine['cores']} cores, load {machine['load']}, {machine['date']}: "
        f"s = {rate:.1f} answers a second at {SIZING_CLIENTS} clients, 95 % of them within "
        f"{row['p95_ms'] / 1000:.1f} s, in {rss_mb:.0f} MB; a kept report of 8 claims takes {kb:.1f} kB.",
        "",
        f"| answers a second *a* | services n | cores | memory | reports kept {KEEP_DAYS} days |",
        "|---|---|---|---|---|",
    ]
    for asked in PLANNED:
        busy = math.ceil(asked / (SIZING_USE * rate))
        count = busy + SPARE
        gb = asked * QUIET * 86_400 * KEEP_DAYS * kb / 1e6
        lines.append(
            f"| {asked} | ceil({asked} / ({SIZING_USE} * {rate:.1f})) + {SPARE} = {count} | "
            f"{count * machine['cores']} | {count * rss_mb / 1000:.1f} GB | {gb:,.0f} GB |"
        )
    lines += [
        "",
        f"Disk: *a* * {QUIET} (a day's mean load by its busiest minute) * 86,400 s * {KEEP_DAYS} days * {kb:.1f} kB; "
        "`store.sample` and `keep_days` divide it.",
    ]
    return "\n".join(lines)


def severities() -> str:
    """What the severity of each kind of finding comes to."""
    sys.path.insert(0, str(ROOT / "docs"))
    import severity_tables

    return severity_tables.severities()


PARTS: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "default_decisions": default_decisions,
    "rails": rails_table,
    "prompts": prompts_table,
    "help": help_texts,
    "eval_datasets": evaluation_datasets,
    "redteam_categories": redteam_categories,
    "sizing": sizing,
    "severities": severities,
    **{
        f"bench_{name}": partial(benchmark, name)
        for name in ("latency", "scaling", "real_rows", "measures", "claims", "claims_speed", "error_types")
    },
}

if __name__ == "__main__":
    main()
