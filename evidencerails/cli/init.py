"""`evidencerails init`: the rail in an existing guardrails config, by the smallest edit that does it, and back."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import Any

import typer

from evidencerails.adapters.nemo_rails import RAILS
from evidencerails.adapters.nemo_source import read_exact
from evidencerails.cli.common import CliError, one_of, refuse_no_folder
from evidencerails.cli.schema import EDITOR_LINE, EDITOR_MARK, FILE_NAME
from evidencerails.cli.terminal import say
from evidencerails.text.visible import visible

ACTIVATIONS = ("per_response", "always", "shadow")
RECORD = ".evidencerails-init.json"
"""NeMo reads only .yml, .yaml and .co files of a config folder, so this one is invisible to it."""
Changes = dict[Path, tuple["str | None", "str | None"]]
"""file -> text before and after; None where the file is not there."""
_UNCLEAR = "\0"
"""Stands for a text that is not known."""
_FLOW = (
    f"Rail to add: {', '.join(RAILS)}. Repeatable. Default: those whose flags the config's flows set; else check "
    "grounding if the config has evidence (a kb folder, relevant_chunks, facts in its instructions), self check "
    "hallucination otherwise."
)
_ACTIVATION = "When the rail runs. Default: always, unless a flow sets that flag."


def init(
    folder: Path = typer.Argument(..., metavar="FOLDER", help="A guardrails config folder: the one with config.yml."),
    flow: list[str] = typer.Option([], metavar="NAME", help=_FLOW),
    activation: str | None = typer.Option(None, metavar="|".join(ACTIVATIONS), help=_ACTIVATION),
    yes: bool = typer.Option(False, "--yes", "-y", help="Write without asking."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show the change and write nothing."),
    undo: bool = typer.Option(False, "--undo", help="Take back what init wrote."),
) -> int:
    """Add the rail to an existing guardrails config: shows the change, asks, writes.

    evidencerails init ./config

    A second run changes nothing. --undo takes back the lines of init and leaves yours. Exit code: 0 done, 2 not
    possible, with the reason.
    """
    from evidencerails.cli import init_plan

    refuse_no_folder(folder)
    record = _record(folder)
    if undo:
        changes = _changes_back(folder, record)
    else:
        for name in flow:
            one_of("flow", name, tuple(RAILS))
        one_of("activation", activation, ACTIVATIONS)
        changes = init_plan.plan(folder, flows=flow, activation=activation)
    if not changes:
        say("nothing to change")
        return 0
    for file, (before, after) in changes.items():
        old, new = (str(file) if text is not None else "/dev/null" for text in (before, after))
        texts = (before or "").splitlines(), (after or "").splitlines()
        for line in difflib.unified_diff(*texts, old, new, lineterm=""):
            print(visible(line))
    if dry_run:
        return 0
    if not yes and not (sys.stdin.isatty() and typer.confirm("Write this?", err=True)):
        say("nothing written; --yes writes without asking")
        return 2
    if undo:
        (folder / RECORD).unlink()
    else:  # remembers what would stand there without any run of `init`
        for file, (before, after) in changes.items():
            earlier = record.get(name := file.relative_to(folder).as_posix())
            without = before if earlier is None else _taken_back(earlier["before"], earlier["after"], before)
            record[name] = {"before": before if without is _UNCLEAR else without, "after": after}
        (folder / RECORD).write_text(json.dumps({"version": 1, "files": record}, indent=1), encoding="utf-8")
    for file, (_, after) in changes.items():
        if after is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(after.encode("utf-8"))
    if undo:
        say("restored")
        return 0
    say(f"written; prove that it fires with: evidencerails doctor {folder}")
    _offer_schema(folder, changes)
    return 0


def _offer_schema(folder: Path, changes: Changes) -> None:
    """Say how an editor completes our settings in the file that now holds them. Not written unasked: a line that names
    a schema which is not there is an error in the editor."""
    for file, (_, after) in changes.items():
        if "evidencerails:" in (text := after or "") and file.suffix != ".co" and EDITOR_MARK not in text:
            schema = f"evidencerails schema > {file.parent / FILE_NAME}"
            say(f"for completion in an editor: {schema}, then as the first line of {file}: {EDITOR_LINE}")


def _changes_back(folder: Path, record: dict[str, Any]) -> Changes:
    """What `--undo` has to write. `CliError`: `init` wrote nothing here, or a line that it changed was edited since."""
    if not record:
        raise CliError(f"nothing to undo: no {RECORD} in {str(folder)!r}")
    changes: Changes = {}
    for name, entry in record.items():
        file = folder / name
        now = read_exact(file) if file.is_file() else None
        before = _taken_back(entry["before"], entry["after"], now)
        if before is _UNCLEAR:
            raise CliError(
                f"{str(file)!r}: a line that init changed was edited after it, so the file is left alone; take the "
                f"rail out of that line by hand (the text before init is in {str(folder / RECORD)!r})"
            )
        changes[file] = (now, before)
    return changes


def _taken_back(before: str | None, after: str | None, now: str | None) -> str | None:
    """The text of now without what made `after` of `before`; `_UNCLEAR` if the user edited one of the lines changed.

    Added lines go, unless others of the user's stand inside them (`rails:` with another rail below it); a file that
    nothing else is in goes too.
    """
    if now in (before, after) or now is None:
        return None if now is None else before
    old, new, current = (_lines(text or "") for text in (before, after, now))
    place = {
        block.a + step: block.b + step
        for block in difflib.SequenceMatcher(None, new, current, autojunk=False).get_matching_blocks()
        for step in range(block.size)
    }
    ours: dict[int, list[str]] = {}
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        at = [place.get(line) for line in range(j, j_end)]
        if kind != "insert" and (not at or None in at):
            return _UNCLEAR
        ours |= {line: [] for line in at if line is not None}
        if kind != "insert":
            ours[at[0]] = old[i:i_end]  # type: ignore[index]
    kept: list[str] = []
    for line in reversed(range(len(current))):
        if line not in ours or (not ours[line] and _is_needed(current[line], kept)):
            kept.insert(0, current[line])
        else:
            kept[:0] = ours[line]
    return None if before is None and not "".join(kept).strip() else "".join(kept)


def _lines(text: str) -> list[str]:
    return (text if not text or text.endswith("\n") else text + "\n").splitlines(keepends=True)


def _is_needed(line: str, following: list[str]) -> bool:
    """True if the next line that says something belongs to this one."""
    next_text = next((one for one in following if one.strip() and not one.lstrip().startswith("#")), "")
    indents = [len(one) - len(one.lstrip()) for one in (line, next_text)]
    return bool(line.strip()) and indents[1] > indents[0]


def _record(folder: Path) -> dict[str, Any]:
    file = folder / RECORD
    try:
        files = json.loads(file.read_text(encoding="utf-8"))["files"] if file.is_file() else {}
        return {name: {"before": one["before"], "after": one["after"]} for name, one in files.items()}
    except (ValueError, KeyError, TypeError):
        raise CliError(f"{str(file)!r} is damaged; take the rail out by hand and delete that file") from None
