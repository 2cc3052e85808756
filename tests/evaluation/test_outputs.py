"""No command writes over a file that it reads."""

from itertools import product
from pathlib import Path

import pytest
from commands import Run


@pytest.mark.parametrize(
    ("command", "read", "options"),
    [
        ("eval -d rows.jsonl --compare earlier.jsonl --fresh", "rows.jsonl earlier.jsonl", "run json markdown"),
        ("calibrate --run rows.jsonl", "rows.jsonl", "out json"),
        ("redteam -e docs", "docs/bridge.txt", "save-suite json markdown propose history"),
        ("redteam --suite s.jsonl -c app", "s.jsonl app/config.yml", "save-suite json markdown history"),
    ],
)
def test_what_is_read_is_not_overwritten(evidencerails: Run, command: str, read: str, options: str) -> None:
    for name, option in product(read.split(), options.split()):
        for file in map(Path, read.split()):
            file.parent.mkdir(exist_ok=True)
            file.write_text("checks: [grounding]\n")
        done = evidencerails(*command.split(), f"--{option}", name)
        assert done.code == 2 and "this command also reads that file" in done.err, (name, option)
        assert Path(name).read_text() == "checks: [grounding]\n"
