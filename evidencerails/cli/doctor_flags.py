"""Flags in the user's flows: set where a rail reads them, under the right name, and visible to it?"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from evidencerails.cli.catalog import RAILS, Rail, variables_set
from evidencerails.cli.doctor_source import Problem, Source, custom_callers, flows_in

_SIMILAR_FROM = 0.8
"""difflib's ratio from which another variable counts as a misspelt flag."""
_FLOW_OF = {rail.flag: rail.flow for rail in RAILS.values()}


def flag_problems(source: Source, rails: list[Rail], activation: str, *, flags_in_app: bool) -> Iterator[Problem]:
    """What keeps a flag from reaching its rail; nothing of it matters unless rails wait for flags."""
    if activation != "per_response":
        return
    set_in = {
        name: flow for text in source.colang.values() for flow, body in flows_in(text) for name in variables_set([body])
    }
    for rail in rails:
        if rail.flag not in set_in:
            yield Problem(
                "note" if flags_in_app else "error",
                "flag_set_nowhere",
                f"no flow sets ${rail.flag}: unless your program does in a context message, {rail.flow!r} never fires",
                "set `activation: always` under custom_data.evidencerails or the flag in a flow; --flags-in-app if "
                "your program sets it",
            )
    yield from _of_no_rail(source, rails, set_in)
    if source.is_colang_2:
        yield from _not_global(source)


def _of_no_rail(source: Source, rails: list[Rail], set_in: dict[str, str]) -> Iterator[Problem]:
    """Flags of rails that are not there, and variables that look like a flag."""
    listed = {rail.flag for rail in rails}
    for name, flow in set_in.items():
        if name in _FLOW_OF and name not in listed and not custom_callers(source):
            yield Problem(
                "warning",
                "flag_without_rail",
                f"flow {flow!r} sets ${name}, but {_FLOW_OF[name]!r} is not among the output rails: nothing reads it",
                f"add `{_FLOW_OF[name]}` to the output rails",
            )
        meant = [] if name in _FLOW_OF else difflib.get_close_matches(name, list(_FLOW_OF), 1, _SIMILAR_FROM)
        if meant:
            yield Problem(
                "warning", "flag_misspelt", f"flow {flow!r} sets ${name}, which no rail reads", f"write ${meant[0]}"
            )


def _not_global(source: Source) -> Iterator[Problem]:
    """Colang 2.x: a variable of a flow is its own unless it is declared global there."""
    for text in source.colang.values():
        for flow, body in flows_in(text):
            for name in sorted(variables_set([body]) & _FLOW_OF.keys()):
                if not re.search(rf"^[ \t]*global[ \t]+\${name}\b", body, re.MULTILINE):
                    yield Problem(
                        "error",
                        "flag_not_global",
                        f"flow {flow!r} sets ${name} without declaring it: the rail cannot see it",
                        f"add `global ${name}` at the flow's beginning",
                    )
