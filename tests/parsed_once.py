"""NeMo parses its whole library of Colang anew for each app, which is two thirds of the time it takes to make one."""

import pickle
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest


@pytest.fixture(scope="session")
def colang_is_parsed_once() -> Iterator[None]:
    """What NeMo's parser gave for a text is kept, and each app gets a copy."""
    from nemoguardrails import colang

    with pytest.MonkeyPatch.context() as patch:
        for parser in (colang.parser_v1_0, colang.parser_v2_x):
            patch.setattr(parser, "parse_colang_file", _remembered(parser.parse_colang_file))
        yield


def _remembered(parse: Callable[..., Any]) -> Callable[..., Any]:
    @cache
    def pickled(*arguments: Any) -> bytes:
        return pickle.dumps(parse(*arguments))

    return lambda *arguments: pickle.loads(pickled(*arguments))  # noqa: S301 - our own, of a moment ago
