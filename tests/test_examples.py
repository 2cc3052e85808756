"""Each example is run as a reader runs it, and prints what stands in `example_output`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parent.parent
EXAMPLE_OUTPUT = Path(__file__).with_name("example_output")
OUTPUT = {f"{file.stem}.py": file.read_text("utf-8") for file in sorted(EXAMPLE_OUTPUT.iterdir())}
"""What each example prints."""


SUPPORT_BOT = REPOSITORY / "examples" / "support_bot"


def test_every_example_is_run_here() -> None:
    found = {file.relative_to(REPOSITORY / "examples").as_posix() for file in (REPOSITORY / "examples").rglob("*.py")}
    assert found == {*OUTPUT, "support_bot/run.py"}


@pytest.mark.parametrize(("name", "place"), [*((name, "empty") for name in OUTPUT), ("rag_chat.py", "repository")])
def test_an_example_prints_what_it_should(name: str, place: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [sys.executable, REPOSITORY / "examples" / name],
        cwd=REPOSITORY if place == "repository" else empty,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "DO_NOT_TRACK": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == OUTPUT[name]
    assert place == "repository" or list(empty.iterdir()) == [], "an example leaves nothing behind"


def test_the_support_bot_is_of_real_size() -> None:
    articles = {file.stem: file.read_text(encoding="utf-8") for file in (SUPPORT_BOT / "config" / "kb").glob("*.md")}
    assert len(articles) == 40
    assert [name for name, text in articles.items() if not 150 <= len(text.split()) <= 500] == []
    rows = yaml.safe_load((SUPPORT_BOT / "questions.yml").read_text(encoding="utf-8"))
    assert len({row["question"] for row in rows}) == 30 and {row["article"] for row in rows} <= articles.keys()


@pytest.mark.timeout(1200)
def test_the_support_bot_does_what_its_page_shows(tmp_path: Path) -> None:
    """The page shows one run. Scores differ in the third digit between processors: single figures may differ, and an
    answer or two may change its column."""
    done = subprocess.run(
        [sys.executable, SUPPORT_BOT / "run.py", tmp_path / "out"],
        capture_output=True,
        text=True,
        timeout=1200,
        env={**os.environ, "DO_NOT_TRACK": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    shown = (SUPPORT_BOT / "README.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    assert _frame(done.stdout) == _frame(shown)
    now, then = _tables(done.stdout), _tables(shown)
    assert len(now) == len(then) == 4 and all(sum(row) == 30 for row in now)
    assert all(abs(a - b) <= 2 for row, other in zip(now, then, strict=True) for a, b in zip(row, other, strict=True))
    assert list(Path.cwd().iterdir()) == [], "nothing is left beside what was asked for"
    assert {"blocked.html", "bot.db", "calibration.yml", "day.jsonl", "monitoring.html"} <= {
        file.name for file in (tmp_path / "out").iterdir()
    }
    assert "<mark" in (tmp_path / "out" / "blocked.html").read_text(encoding="utf-8")


def _frame(output: str) -> list[str]:
    """The headlines and the commands of a run."""
    return [re.sub(r"[\d.]+", "#", line) for line in output.splitlines() if line.startswith(("==", "$"))]


def _tables(output: str) -> list[list[int]]:
    """Delivered, flagged, blocked, of the right and of the wrong answers."""
    return [[int(n) for n in row] for row in re.findall(r"^\w+ answers +(\d+) +(\d+) +(\d+)$", output, re.MULTILINE)]
