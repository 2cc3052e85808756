"""What other people's programs rest on, beside the list that they may rest on it: `public_surface.json`.

A difference is a decision to make, not a test to mend: write it into the list, and into CHANGELOG.md.
"""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evidencerails
from evidencerails import Guard, errors
from evidencerails.adapters.nemo_rails import ACTIONS, RAILS
from evidencerails.settings.paths import plugin_folder

LIST = Path(__file__).with_name("public_surface.json")
FLOW = re.compile(r"^(?:define (?:sub)?flow|flow) ([a-z][a-z ]*?)(?: \$.*)?$", re.MULTILINE)


def surface() -> dict[str, Any]:
    """The surface as the program has it."""
    from typer.main import get_command

    from evidencerails.cli.main import app
    from evidencerails.service import api, pages

    rails = "\n".join(file.read_text(encoding="utf-8") for file in plugin_folder().glob("rails/*.co"))
    own = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)]
    methods = inspect.getmembers(Guard, lambda one: inspect.isfunction(one) and one.__name__[0] != "_")
    routes = [route for router in (api.router, api.probes, pages.router) for route in router.routes]
    return {
        "package": sorted(evidencerails.__all__),
        "flows": sorted({*FLOW.findall(rails)} & {rail.flow for rail in ACTIONS.values()}),
        "flags": sorted(rail.flag for rail in RAILS.values()),
        "actions": sorted(ACTIONS),
        "rail exceptions": sorted({*re.findall(r"\b[A-Z]\w+RailException\b", rails)}),
        "exceptions": sorted(one.__name__ for one in own if one.__module__ == errors.__name__),
        "Guard": [f"Guard{_named(Guard)}", *(f"{name}{_named(method)}" for name, method in methods)],
        "commands": sorted(_commands(get_command(app))),
        "routes": sorted(f"{', '.join(sorted(route.methods))} {route.path}" for route in routes),
    }


def _named(function: Any) -> str:
    """The names of the parameters, in their order; `*` before those that need their name."""
    found = []
    for name, one in inspect.signature(function).parameters.items():
        if one.kind is one.KEYWORD_ONLY and "*" not in found:
            found.append("*")
        found += [name] if name != "self" else []
    return f"({', '.join(found)})"


def _commands(group: Any, path: str = "") -> Iterator[str]:
    """The commands and the exit codes that their help names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{name} ")
        else:
            named = re.search(r"Exit code: (.*)", " ".join((command.help or "").split()))
            codes = re.findall(r"(?:^|, |or )(\d+)\b", named[1]) if named else ["0"]
            yield f"{path}{name}: {', '.join(sorted(codes, key=int))}"


def test_the_public_surface_is_that_of_the_list() -> None:
    assert surface() == json.loads(LIST.read_text(encoding="utf-8"))
