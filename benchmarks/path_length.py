"""How far one answer runs: functions, files and hand-offs between threads of a check with default settings.

    python benchmarks/path_length.py [--checks grounding claims] [--sentence ...] [--passage ...] [--list]

Counts the functions of the package that run for one sentence beside one passage (comprehensions and lambdas are shown
apart), the files they stand in, and how often work goes to another thread or comes back from one: `submit`
(`run_in_executor` and `to_thread` end in it), `call_soon_threadsafe`, started threads, and requests to the thread of
the NLI model. Guard and model have been at work once before. Hand-offs are counted in a check of its own: a profile
makes each piece of work several times as long.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import evidencerails
from evidencerails import Guard
from evidencerails.nli.service import NliService

PACKAGE = str(Path(evidencerails.__file__).parent)
HAND_OFFS: tuple[tuple[type, str], ...] = (
    (ThreadPoolExecutor, "submit"),
    (asyncio.BaseEventLoop, "call_soon_threadsafe"),
    (threading.Thread, "start"),
    (NliService, "scores"),
)


def code_of(first: Callable[[], object], check: Callable[[], object]) -> set[CodeType]:
    """The package's functions, comprehensions and lambdas that run in a check after a first one, in any thread."""
    found: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_flags & 0x2:  # no body of a module
            found.add(code)

    threading.setprofile(note)  # before the first check of all, for only threads that start later are heard
    sys.setprofile(note)
    first()  # loads the model, starts the threads
    found.clear()
    check()
    sys.setprofile(None)
    threading.setprofile(None)
    return found


def hand_offs_of(check: Callable[[], object]) -> Counter[str]:
    """How often a check hands work to another thread, by the way it does."""
    counts: Counter[str] = Counter()
    originals = [(owner, name, getattr(owner, name)) for owner, name in HAND_OFFS]

    def counted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            return original(*args, **options)

        return call

    for owner, name, original in originals:
        setattr(owner, name, counted(name, original))
    try:
        check()
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
    return counts


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checks", nargs="+", help="the checks to run, in place of those of the default settings")
    parser.add_argument("--sentence", default="The tunnel was closed in 1984.")
    parser.add_argument("--passage", default="The tunnel was closed in 1991.")
    parser.add_argument("--list", action="store_true", help="name the functions, by file")
    asked = parser.parse_args()
    guard = Guard({"checks": asked.checks} if asked.checks else None)

    def check() -> object:
        return guard.check_sync(asked.sentence, evidence=[asked.passage])

    code = code_of(
        lambda: guard.check_sync("The bridge opened in 1875.", evidence=["The bridge opened in 1932."]), check
    )
    functions = sorted(
        (one for one in code if not one.co_name.startswith("<")), key=lambda one: (one.co_filename, one.co_firstlineno)
    )
    hand_offs = hand_offs_of(check)
    print(f"{len(functions)} functions in {len({one.co_filename for one in code})} files")
    print(f"{len(code) - len(functions)} comprehensions and lambdas")
    print(f"{hand_offs.total()} hand-offs: {', '.join(f'{name} {count}' for name, count in hand_offs.items())}")
    if asked.list:
        for one in functions:
            place = f"{Path(one.co_filename).relative_to(PACKAGE)}:{one.co_firstlineno}"
            print(f"{place} {getattr(one, 'co_qualname', one.co_name)}")


if __name__ == "__main__":
    main()
