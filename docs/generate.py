"""Writes the parts of the documentation that the program knows better: settings, rails, prompts, help, real output.

    python docs/generate.py            # writes; tests/test_docs.py fails if that would change anything
    python docs/generate.py --figures  # also rewrites output of which only figures differ, such as seconds

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`. Each page is run from its first block to its last
in one folder with the files of `files()`: below each `$ evidencerails ...` and `$ cat ...` line of a `console` block
stands what it printed, and the comments that end a `python` block are what that printed.
"""

from __future__ import annotations

import ast
import inspect
import itertools
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
from pathlib import Path
from typing import Any, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
SCHEMA = ROOT / "configs" / "evidencerails.schema.json"
COLUMNS = 100
MEASURED = ("batch", "calibrate", "change", "eval", "gate", "monitor", "report", "store")
"""Commands whose figures are another at each run, or on each machine."""
CONFIG = "models:\n  - type: main\n    engine: openai\n    model: gpt-4o-mini   # our cheapest\n"


def files() -> dict[str, str]:
    """What the folder holds in which a page is run: name and text."""
    tool = {
        "type": "object",
        "properties": {"customer_id": {"type": "string"}, "notify": {"type": "boolean"}},
        "required": ["customer_id"],
    }
    return {
        "returns.txt": "Items can be returned within 30 days of delivery. Refunds are paid within 5 business days.\n",
        "app/config.yml": CONFIG,
        "bot/config.yml": CONFIG + "  - {type: embeddings, engine: evidencerails, model: embedded}\n",
        "bot/kb/help.md": "# Returns\n\nItems can be returned within 30 days of delivery. Refunds are paid within 5 "
        "business days.\n\n# Delivery\n\nDelivery is free from 40 euros. Parcels arrive within 3 business days.\n",
        "tools.json": json.dumps([{"name": "close_account", "parameters": tool}]) + "\n",
        "calls.json": '[{"name": "close_account", "arguments": {"customer_id": "C-1010", "notify": "yes"}}]\n',
        "customers.csv": "customer_id,name\nC-1001,Ada\nC-1002,Ben\n",
        "tools.yml": "evidencerails:\n  tools:\n    sources:\n      customers: {kind: csv, path: customers.csv, field: "
        "customer_id}\n    resolvers:\n      customer_id: {source: customers}\n",
        "store.yml": "evidencerails:\n  store: {}\n  monitoring:\n    budget: {max_share: 0.2}\n",
        "answers.jsonl": "".join(labelled_answers(15)),
        "today.jsonl": "".join(labelled_answers(3)),
    }


def labelled_answers(count: int) -> list[str]:
    """The answers of the first rows of `benchmarks/rag_answers.jsonl`, as lines that `evidencerails eval` reads."""
    with (ROOT / "benchmarks" / "rag_answers.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in itertools.islice(lines, count)]
    answers = [
        {
            "id": f"{row['id']}-{number}",
            "prompt": one["question"],
            "evidence": row["passages"],
            "response": one["answer"],
            "hallucinated": not one["right"],
        }
        for row in rows
        for number, one in enumerate(row["answers"])
    ]
    return [json.dumps(answer) + "\n" for answer in answers]


def main() -> None:
    """Rewrite every page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = generated(with_real_output(text, figures="--figures" in sys.argv))
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


def with_real_output(text: str, figures: bool = False) -> str:
    """The page with what its commands and programs print now; `figures`: also where nothing but figures changed."""
    block = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files().items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(content, encoding="utf-8")

        def run(match: re.Match[str]) -> str:
            if match[1] == "python":
                return f"```python\n{_program(match[2], folder)}```"
            return f"```console\n{_transcript(match[2], folder, figures)}```"

        return block.sub(run, text)


def _program(code: str, folder: str) -> str:
    """The code, run, with its output as comments at its end."""
    done = _run([sys.executable, "-c", code], folder, subprocess.PIPE)
    if done.returncode:
        raise SystemExit(f"this code of a page fails:\n\n{code}\n{done.stderr}")
    printed = "".join(f"# {line}".rstrip() + "\n" for line in done.stdout.splitlines())
    return re.sub(r"(?:^#.*\n)*\Z", "", code, count=1, flags=re.MULTILINE) + printed


def _transcript(block: str, folder: str, figures: bool) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    if not commands or not all(command.startswith(("evidencerails ", "cat ")) for command in commands):
        return block
    new = "".join(f"$ {command}\n{_output(command, folder)}" for command in commands)
    is_measured = any(command.split()[1] in MEASURED for command in commands)
    kept = _without_figures if is_measured else _without_times
    return block if not figures and kept(new) == kept(block) else new


def _without_figures(output: str) -> str:
    output = re.sub(r";\s[^;]+?,\s+\d+\s+cores", "; #", output)  # the processor, and how its name breaks the lines
    return re.sub(r"[0-9a-f]{32}|[\d.,:%]+|[\s█▁▂▃▄▅▆▇━─]+", "#", output)


def _without_times(output: str) -> str:
    """Milliseconds are the last column of a table."""
    return re.sub(r"[│┃] +(?:ms|\d+)$|━+$", "#", output, flags=re.MULTILINE)


def _output(command: str, folder: str) -> str:
    """What a command prints to both streams, without blanks at line ends and without its progress."""
    name, *words = shlex.split(command, comments=True)
    if name == "cat":
        return "".join((Path(folder) / word).read_text(encoding="utf-8") for word in words)
    lines = (
        _run([sys.executable, "-m", "evidencerails", *words], folder, subprocess.STDOUT).stdout.rstrip().splitlines()
    )
    return "".join(f"{line.rstrip()}\n" for line in lines if not re.match(r"evidencerails: \d+ of \d+ done ", line))


def _run(command: list[str], folder: str, errors: int) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "DO_NOT_TRACK": "1",
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    return subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
        encoding="utf-8", check=False,
    )  # fmt: skip


ABOUT = {
    "abstention": "mitigation.md#abstain",
    "annotation": "mitigation.md#annotate",
    "calibration": "evaluation.md#calibrate",
    "consistency": "no-documents.md",
    "escalation": "review.md",
    "evidence": "rails.md#evidence",
    "expose": "operations.md#what-leaves-the-app",
    "generation": "mitigation.md#generate-from-evidence-alone",
    "granularity": "measures.md#entailment-at-three-sizes",
    "grounding": "rag.md",
    "llm": "claims.md#with-a-model",
    "logic": "structure.md#logic",
    "nli": "rails.md#which-check-when",
    "quality_gate": "mitigation.md#quality-gate",
    "regeneration": "mitigation.md#regenerate",
    "root_cause": "measures.md#causes-of-findings",
    "scoring": "measures.md",
    "severity": "policies.md#severity",
    "telemetry": "operations.md#telemetry",
    "tools": "tool-calls.md",
    "verification": "mitigation.md#chain-of-verification",
}
"""The page about a section of the settings, where it has another name."""


FIRST = {
    "activation": "everyone: a flag in each flow, every answer, or a trial that changes none",
    "checks": "calls from Python, HTTP or the command line",
    "evidence.from": "an app with several sources of evidence",
    "on_unverified": "an app in which an unchecked answer is worse than none: `block`",
    "policies": "other decisions than the defaults",
    "grounding.max_false_warnings": "an app with too many or too few warnings",
    "grounding.max_false_blocks": "an app with too many or too few blocks",
    "streaming_fallback": "an app that streams",
    "nli.backend": "answers in other languages, or a GPU",
    "nli.threads": "several processes on one machine",
    "llm.model": "checks that ask a model, outside NeMo",
    "llm.base_url": "such a model of a provider other than OpenAI",
    "llm.api_key_env": "such a model whose key has another name",
    "llm.budget.calls": "a limit on calls",
    "consistency.samples": "an app without documents",
    "severity.stakes": "an app with high or low stakes",
    "redaction": "private answers",
    "store": "history, monitoring or review",
    "escalation": "an app whose risky answers a person must approve",
    "service.keys": "a service for other machines",
}
"""The settings that matter first, and what needs each."""


def first_settings() -> str:
    """The settings that matter first, with their defaults."""
    from evidencerails.config import GuardConfig

    known = {key: (values, default) for key, values, default, _ in _keys(GuardConfig, "")}
    rows = ["| key | values | default | needed for |", "|---|---|---|---|"]
    for key, use in FIRST.items():
        values, default = known[key]
        rows.append(f"| `{key}` | {values} | `{default}` | {use} |")
    return "\n".join(rows)


def settings_tables() -> str:
    """Every key of the settings with its values, default and meaning, by section."""
    from evidencerails.config import GuardConfig

    sections: dict[str, list[str]] = {"": []}
    for key, values, default, meaning in _keys(GuardConfig, ""):
        section = re.split(r"[.\[]", key)[0]
        if section == key and "section" not in values and values != "list":
            section = ""
        cells = (f"`{key}`", values, f"`{default}`" if default else "", meaning)
        row = "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        sections.setdefault(section, []).append(row)
    parts = []
    for section, rows in sections.items():
        page = ABOUT.get(section, f"{section.replace('_', '-')}.md") if section else "policies.md"
        head = ["| key | values | default | meaning |", "|---|---|---|---|"]
        parts.append("\n".join([f"## {section or 'general'}", "", f"[More about it](../{page})", "", *head, *rows]))
    return "\n\n".join(parts)


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
                yield key, "section", "unset", meanings.get(name) or _first_paragraph(inner)
            yield from _keys(inner, f"{key}.")
        elif inner is not None:
            yield key, "list", "[]", meanings.get(name, "")
            yield from _keys(inner, f"{key}[].")
        else:
            yield key, _values(field.annotation), _default(field), meanings.get(name) or _first_paragraph(model)


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
    if hasattr(annotation, "__metadata__"):  # Annotated
        return _values(annotation.__origin__)
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


def _first_paragraph(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def default_decisions() -> str:
    """What each kind of finding leads to without a policy, as the engine decides it."""
    from evidencerails.policy import NONEXISTENT_SOURCE, default_decision
    from evidencerails.report import Finding, FindingKind, Label

    finer: dict[str, list[dict[str, Any]]] = {
        "unsupported_claim": [{"label": label} for label in get_args(Label) if label != "supported"],
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
        message = f"`bot {rail.message}`" if rail.exception else f"the answer, then `bot {rail.message}`"
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
    from typer.main import get_command

    from evidencerails.cli.main import app

    commands = get_command(app).commands
    inside = {name: getattr(command, "commands", None) for name, command in commands.items()}
    return [f"{name} {one}".strip() for name, own in inside.items() for one in own or [""]]


def redteam_categories() -> str:
    """The attacks, described by the docstrings of their generators."""
    from evidencerails.evaluation.redteam.attacks import KINDS
    from evidencerails.evaluation.redteam.session import GENERATORS

    lines = ["| category | attack | expected | named by |", "|---|---|---|---|"]
    for name, maker in GENERATORS.items():
        about = (inspect.getdoc(maker) or "").rstrip(".")
        named = ", ".join(f"`{one}`" for one in sorted(KINDS[name].named_by)) or "-"
        lines.append(f"| `{name}` | {about} | {KINDS[name].expected.replace('_', ' ')} | {named} |")
    return "\n".join(lines)


def evaluation_datasets() -> str:
    """Name and files of each public data set."""
    from evidencerails.evaluation.datasets.sources import SOURCES

    rows = ["| name | files |", "|---|---|"]
    rows += [f"| `{name}` | {', '.join(f'`{file}`' for file in one.files)} |" for name, one in SOURCES.items()]
    return "\n".join(rows)


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
    """The severity of each kind of finding."""
    sys.path.insert(0, str(ROOT / "docs"))
    import severity_tables

    return severity_tables.severities()


def how_good() -> str:
    """The first figures of docs/how-good.md, and of the default cascade in docs/benchmarks.md, in two sentences."""
    first = (ROOT / "docs" / "how-good.md").read_text(encoding="utf-8").split("\n\n")[1]
    right, flagged, _, wrong, caught = re.findall(r"\d+%?", first)
    judged = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    row = re.search(r"\| default cascade \| rag answers \| \d+ \| ([\d.]+)% \| ([\d.]+)% \|", judged)
    assert row is not None, "benchmarks/judge.py writes the row of the default cascade"
    return (
        f"- It misses some errors and flags some correct answers. Without an LLM it catches {caught} of {wrong} wrong\n"
        f"  answers that a large language model wrote to be hard, and flags {flagged} of {right} correct ones\n"
        "  ([by kind of error](docs/how-good.md)). With a large model for unsure claims, as `check claims` has in a\n"
        f"  NeMo app, it catches {float(row[2]):.0f}% and flags {float(row[1]):.0f}% of half of these answers "
        "([with a judge](docs/benchmarks.md#with-a-judge))."
    )


PARTS: dict[str, Callable[[], str]] = {
    "first_settings": first_settings,
    "settings": settings_tables,
    "default_decisions": default_decisions,
    "rails": rails_table,
    "prompts": prompts_table,
    "help": help_texts,
    "how_good": how_good,
    "eval_datasets": evaluation_datasets,
    "redteam_categories": redteam_categories,
    "sizing": sizing,
    "severities": severities,
}

if __name__ == "__main__":
    main()
