"""How far one answer runs: functions, files and hand-offs between threads of a check with default settings.

    python benchmarks/path_length.py [--checks grounding claims] [--list]

Counts the functions of the package that run for one sentence beside one passage (comprehensions and lambdas are shown
apart), the files they stand in, and how often work goes to another thread or comes back from one: `submit`
(`run_in_executor` and `to_thread` end in it), `call_soon_threadsafe`, and started threads. The first check makes the
guard and loads the model; the second is one of a guard that is at work.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

import evidencerails
from evidencerails import Guard

PACKAGE = str(Path(evidencerails.__file__).parent)
HAND_OFFS = {
    ("thread.py", "submit"),
    ("base_events.py", "call_soon_threadsafe"),
    ("threading.py", "start"),
    ("service.py", "_submit"),
}
"""The last one is the package's own: it wakes the thread of the NLI model."""


class Run:
    """What is called from its making on; threads that run already are heard if an earlier run was there before them."""

    current: Run

    def __init__(self) -> None:
        self.code: set[CodeType] = set()
        self.hand_offs: Counter[str] = Counter()
        Run.current = self
        threading.setprofile(_note)
        sys.setprofile(_note)

    def __str__(self) -> str:
        functions = self.functions()
        files = {code.co_filename for code in self.code}
        by_kind = ", ".join(f"{name} {count}" for name, count in sorted(self.hand_offs.items()))
        return (
            f"{len(functions)} functions and {len(self.code) - len(functions)} comprehensions and lambdas "
            f"in {len(files)} files, {self.hand_offs.total()} hand-offs ({by_kind})"
        )

    def functions(self) -> list[CodeType]:
        """The functions in the order of the files."""
        named = [code for code in self.code if not code.co_name.startswith("<")]
        return sorted(named, key=lambda code: (code.co_filename, code.co_firstlineno))


def _note(frame: FrameType, event: str, _: object) -> None:
    if event != "call":
        return
    code = frame.f_code
    if code.co_filename.startswith(PACKAGE) and code.co_flags & 0x2:  # no body of a module or class
        Run.current.code.add(code)
    if (Path(code.co_filename).name, code.co_name) in HAND_OFFS:
        Run.current.hand_offs[code.co_name] += 1


def main() -> None:
    """Print the counts of a first and a second check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checks", nargs="+", help="the checks to run, in place of those of the default settings")
    parser.add_argument("--list", action="store_true", help="name the functions of the second check, by file")
    parser.add_argument("--sentence", default="The tunnel was closed in 1984.")
    parser.add_argument("--passage", default="The tunnel was closed in 1991.")
    asked = parser.parse_args()
    first = Run()
    guard = Guard({"checks": asked.checks} if asked.checks else None)
    guard.check_sync("The bridge opened in 1875.", evidence=["The bridge opened in 1932."])
    second = Run()
    report = guard.check_sync(asked.sentence, evidence=[asked.passage])
    sys.setprofile(None)
    print(f"first check:  {first}\nsecond check: {second}\nstatus: {report.status}")
    if asked.list:
        for code in second.functions():
            place = f"{Path(code.co_filename).relative_to(PACKAGE)}:{code.co_firstlineno}"
            print(f"{place} {getattr(code, 'co_qualname', code.co_name)}")


if __name__ == "__main__":
    main()
