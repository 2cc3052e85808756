"""The steps that docs/architecture.md lists are those that an answer takes, in this order, and the way is short."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

MAX_STEPS, MAX_FUNCTIONS, MAX_FILES = 15, 150, 25
TRACED = """
import json, sys, threading
seen = []
def note(frame, event, _):
    name = frame.f_globals.get("__name__", "")
    if event == "call" and name.startswith("evidencerails."):
        step = name.removeprefix("evidencerails.") + "." + frame.f_code.{attribute}
        if step not in seen:
            seen.append(step)
threading.setprofile(note)
sys.setprofile(note)
from evidencerails import Guard
report = Guard().check_sync("The bridge opened in 1875.", evidence=["The bridge opened in 1932."])
sys.setprofile(None)
print(json.dumps([report.status, seen]))
"""


@pytest.mark.slow
def test_a_sentence_beside_a_passage_runs_through_few_functions(repository: Path, tmp_path: Path) -> None:
    program = repository / "benchmarks" / "path_length.py"
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=True)
    functions, files = map(int, re.match(r"(\d+) functions in (\d+) files", done.stdout).groups())  # type: ignore[union-attr]
    assert functions <= MAX_FUNCTIONS and files <= MAX_FILES, done.stdout


@pytest.mark.slow
def test_the_listed_steps_are_the_calls(repository: Path, tmp_path: Path) -> None:
    text = (repository / "docs" / "architecture.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\| \d+ \| `([\w.]+)` \|", text, re.MULTILINE)
    assert 10 <= len(steps) <= MAX_STEPS
    # Python 3.10 knows a function's own name alone.
    attribute = "co_qualname" if sys.version_info >= (3, 11) else "co_name"
    code = TRACED.replace("{attribute}", attribute)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    status, seen = json.loads(done.stdout.splitlines()[-1])
    if attribute == "co_name":
        steps = [re.sub(r"\.[A-Z]\w+(?=\.)", "", step) for step in steps]
    assert status == "hallucinated"
    assert [step for step in seen if step in steps] == steps
