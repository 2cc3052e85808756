"""Which room may import which: arrows run down only and in no circle, lazy and typing imports included."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOMS = (
    {"errors", "version", "executor", "testing"}, {"exchange"}, {"text"}, {"tool_calls", "report_page"}, {"report"},
    {"settings"}, {"config", "trace", "nli"}, {"policy", "llm", "verdict"}, {"measures"}, {"checks"}, {"mitigation"},
    {"operations", "pipeline"}, {"guard"}, {"adapters"}, {"__init__", "evaluation", "service"}, {"cli"}, {"__main__"},
)  # fmt: skip
"""Folders and modules of the package from the lowest floor to the highest; each imports lower ones only."""
FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}


@cache
def imports() -> dict[str, set[str]]:
    """Each module of the package and what it imports of it anywhere, without the package's name. No fixture of the
    file: it would parse before conftest.py has put off finalizers, for whose tracebacks Python fails meanwhile."""
    package = Path(__file__).parent.parent / "evidencerails"
    trees = {_name(file, package): ast.parse(file.read_text(encoding="utf-8")) for file in package.rglob("*.py")}
    return {name: {*_imported(tree, {*trees})} for name, tree in trees.items()}


def _name(file: Path, package: Path) -> str:
    parts = file.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _imported(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in found:
            top, _, rest = name.partition(".")
            if top == "evidencerails":
                yield next(one for one in (rest, rest.rpartition(".")[0], "__init__") if one in modules)


def test_no_arrow_runs_up() -> None:
    assert {name.partition(".")[0] for name in imports()} == {*FLOOR}
    rooms = {
        (name, other)
        for name, others in imports().items()
        for other in others
        if name.partition(".")[0] != other.partition(".")[0]
    }
    assert [one for one in rooms if FLOOR[one[0].partition(".")[0]] <= FLOOR[one[1].partition(".")[0]]] == []


def test_no_imports_run_in_a_circle() -> None:
    TopologicalSorter(imports()).prepare()  # raises CycleError, which names the circle
