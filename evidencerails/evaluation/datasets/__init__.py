"""Rows of a data set by its name or its file, streamed: nothing of it is held but what the publisher's format forces.

for row in Dataset.open("halueval_qa", folder="data").rows(): ...
for row in Dataset.open("answers.jsonl").rows(sample=300, seed=1): ...
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from evidencerails.errors import InputError
from evidencerails.evaluation.datasets.reading import read_own
from evidencerails.evaluation.datasets.sources import SOURCES, files_of
from evidencerails.evaluation.rows import Problems, Row
from evidencerails.settings.problems import nearest


@dataclass(kw_only=True)
class Dataset:
    """A data set that can be read any number of times; `problems` are those of the last time."""

    name: str
    files: list[Path] = field(default_factory=list)
    is_own: bool = False
    """A file in the project's own shape."""
    problems: Problems = field(default_factory=Problems)

    @classmethod
    def open(cls, name_or_file: str, *, folder: str | Path = ".") -> Dataset:
        """The data set of that name, or the rows of a file in the project's own shape.

        Args:
            folder: where the publisher's files lie, subfolders included.

        Raises:
            InputError: there is no such data set or file; the message says where to get it.
        """
        path = Path(name_or_file)
        if name_or_file not in SOURCES:
            if path.is_file():
                return cls(name=path.name.split(".")[0], files=[path], is_own=True)
            raise InputError(_unknown(name_or_file))
        source = SOURCES[name_or_file]
        files = files_of(name_or_file, Path(folder))
        if not files:
            raise InputError(
                f"{name_or_file}: no {' and '.join(source.files)} in {str(folder)!r}; get it from {source.where} "
                "and name its folder with --data"
            )
        return cls(name=name_or_file, files=files)

    def rows(self, *, sample: int | None = None, seed: int = 0) -> Iterator[Row]:
        """The labelled rows with an answer, each id once; a random choice of `sample` of them, in their order.

        Drawing reads the data set once and keeps that many rows (reservoir sampling, Vitter 1985, algorithm R).
        """
        self.problems = Problems()
        usable = self._usable()
        if sample is None:
            return usable
        if sample < 1:
            raise InputError(f"a sample needs at least 1 row, got {sample}")
        return iter(_drawn(usable, sample, random.Random(seed)))

    def _usable(self) -> Iterator[Row]:
        seen: dict[int, int] = {}
        read = read_own if self.is_own else SOURCES[self.name].read
        for row in read(self.files, self.problems):
            if row.hallucinated is None:
                self.problems.note("unlabelled", f"row {row.id}", "no label")
            elif not row.response.strip():
                self.problems.note("empty", f"row {row.id}", "empty response")
            elif (unique := self._unique(row, seen)) is not None:
                self.problems.rows += 1
                yield unique

    def _unique(self, row: Row, seen: dict[int, int]) -> Row | None:
        """The row, under another id if another row had its id; None for a repetition. Keeps 16 bytes a row."""
        content, key = _hash(f"{row.response}\x00{row.document}\x00{row.prompt}\x00{row.hallucinated}"), _hash(row.id)
        if key not in seen:
            seen[key] = content
            return row
        if seen[key] == content:
            self.problems.note("duplicates", f"row {row.id}", "the same row again")
            return None
        self.problems.note("renamed", f"row {row.id}", "another row had this id before")
        renamed = replace(row, id=f"{row.id}#{self.problems.rows + 1}")
        return self._unique(renamed, seen)

    def fingerprint(self) -> str:
        """Changes when a file changes: names, sizes and times of the files."""
        marks = [f"{file.resolve()}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in self.files]
        return f"{self.name}:{self.is_own}:{_hash(chr(0).join(marks)):x}"


def _hash(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _drawn(rows: Iterator[Row], count: int, generator: random.Random) -> list[Row]:
    kept: list[tuple[int, Row]] = []
    for place, row in enumerate(rows):
        if place < count:
            kept.append((place, row))
        elif (slot := generator.randrange(place + 1)) < count:
            kept[slot] = (place, row)
    return [row for _, row in sorted(kept, key=lambda item: item[0])]


def _unknown(name: str) -> str:
    known = f"a JSON-lines, CSV or Parquet file, or one of: {', '.join(SOURCES)}"
    if Path(name).suffix or "/" in name:
        return f"there is no file {name!r}; give {known}"
    return f"unknown data set {name!r}{nearest(name, list(SOURCES))}; give {known}"
