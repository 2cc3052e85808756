"""Which room may import which: arrows run down only, lazy and typing imports included."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

NEVER = [
    ("", "cli", ("__main__.py", "cli")), ("guard.py", "adapters", ()), ("pipeline.py", "adapters", ()),
    ("errors.py", "", ()), ("trace.py", "operations", ()), ("report_page.py", "report", ()),
    ("exchange.py", "tool_calls", ()), ("trace.py", "llm", ()), ("llm", "checks", ()), ("measures", "checks", ()),
    ("measures", "guard", ()), ("operations", "guard", ()), ("operations", "adapters", ()), ("settings", "checks", ()),
    *((room, other, ()) for room in ("llm", "mitigation") for other in ("operations", "adapters", "guard", "service")),
]  # fmt: skip
"""(part of the package, what it never imports, exceptions); an empty name is the whole package."""
LAZY = {("guard.py", "adapters.langchain_guard"): "as_runnable"}
"""Imports that may run up, and the one function that each stands in."""


def imported(file: Path) -> Iterator[str]:
    """The modules of the package that a file imports anywhere, relative to the package."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module == "evidencerails":
            names += [f"evidencerails.{alias.name}" for alias in node.names]
        yield from (name.removeprefix("evidencerails.") for name in names if name.startswith("evidencerails."))


@pytest.mark.parametrize(("part", "other", "exceptions"), NEVER, ids=lambda value: str(value) or "any")
def test_no_arrow_runs_up(repository: Path, part: str, other: str, exceptions: tuple[str, ...]) -> None:
    package = repository / "evidencerails"
    place = package / part
    files = [place] if place.is_file() else [*place.rglob("*.py")]
    assert files
    wrong = {
        str(file.relative_to(package)): module
        for file in files
        if file.relative_to(package).parts[0] not in exceptions
        for module in imported(file)
        if not other or module.partition(".")[0] == other
        if (str(file.relative_to(package)), module) not in LAZY
    }
    assert wrong == {}


@pytest.mark.parametrize(("file", "module"), LAZY, ids=str)
def test_an_import_that_runs_up_stands_in_its_one_function(repository: Path, file: str, module: str) -> None:
    tree = ast.parse((repository / "evidencerails" / file).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if getattr(node, "module", None) == f"evidencerails.{module}"]
    within = [
        node for one in ast.walk(tree) if getattr(one, "name", "") == LAZY[file, module] for node in ast.walk(one)
    ]
    assert len(imports) == 1
    assert imports[0] in within
