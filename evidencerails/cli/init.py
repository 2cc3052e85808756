"""`evidencerails init`: the rail in an existing guardrails config, by the smallest edit that does it, and back."""

from __future__ import annotations

import difflib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer
import yaml

from evidencerails.adapters.nemo_evidence import instructions_of, marked_context, statements
from evidencerails.adapters.nemo_rails import IMPORT_PATH, IMPORT_STATEMENT, RAILS, flow_name
from evidencerails.adapters.nemo_source import config_files, read_exact, variables_set
from evidencerails.cli.common import CliError, one_of, refuse_no_folder, say
from evidencerails.cli.installation import (
    EMBEDDINGS,
    can_download,
    load_config,
    make_plugin_visible,
    missing_embeddings,
)
from evidencerails.cli.schema import EDITOR_LINE, EDITOR_MARK, FILE_NAME
from evidencerails.cli.yaml_edit import CannotEdit, add_item, set_default
from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError
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
    undo: bool = typer.Option(False, "--undo", help="Revert what init wrote."),
) -> int:
    """Add the rail to an existing guardrails config: shows the change, asks, writes.

    evidencerails init ./config

    A second run changes nothing. --undo removes the lines that init added and keeps yours. Exit code: 0 done, 2 not
    possible, with the reason.
    """
    refuse_no_folder(folder)
    record = _record(folder)
    if undo:
        changes = _changes_back(folder, record)
    else:
        for name in flow:
            one_of("flow", name, tuple(RAILS))
        one_of("activation", activation, ACTIVATIONS)
        changes = plan(folder, flows=flow, activation=activation)
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


LIBRARY_HALLUCINATION = re.compile(r"^import nemoguardrails\.library\.hallucination[ \t]*$", re.MULTILINE)
WHOLE_LIBRARY = re.compile(r"^import nemoguardrails\.library[ \t]*$", re.MULTILINE)
OUTPUT_RAILS = re.compile(r"^flow output rails[^\n]*\n", re.MULTILINE)
GUARDRAILS = re.compile(r"^import guardrails[ \t]*$", re.MULTILINE)
ANY_IMPORT = re.compile(r"^import [^\n]*$", re.MULTILINE)


def plan(folder: Path, *, flows: Sequence[str] = (), activation: str | None = None) -> Changes:
    """The files to change, with their texts before and after; empty if the rail is there already. `CliError`: the
    config does not load, before or after, or cannot be extended by small insertions."""
    line = make_plugin_visible()
    if line:
        say(f"NeMo does not find the plugin of this installation by itself; your app needs: {line}")
    try:
        config = load_config(folder)
    except CliError as error:
        raise CliError(f"the config does not load as it is, mend it first: {error}") from None
    texts = {file: read_exact(file) for file in config_files(folder)}
    chosen = list(flows) or _default_flows(config, texts)
    if flows and any(RAILS[flow].needs_evidence for flow in flows) and not gives_evidence(config, texts):
        say("the config has no evidence yet: state facts under `instructions:`, add a kb folder, or set $evidence")
    new = _edited(folder, config, texts, chosen, activation or _default_activation(config, texts, chosen))
    changes: Changes = {file: (texts.get(file), text) for file, text in new.items() if texts.get(file) != text}
    if changes:
        _prove_that_it_loads(folder, {**texts, **new}, chosen)
    return changes


def _default_flows(config: Any, texts: dict[Path, str]) -> list[str]:
    """The rails that are there and those whose flags are set; if none, grounding where there is evidence, and
    self-consistency otherwise."""
    there = [flow for flow in _configured(config, texts) if flow in RAILS]
    added = [flow for flow in _flows_with_flag(texts) if flow not in there]
    if added:
        say(f"flows of the config set the flags of these rails: adding {', '.join(map(repr, added))}")
    elif not there and gives_evidence(config, texts):
        say("the config has evidence: adding 'check grounding' (--flow chooses)")
        added = ["check grounding"]
    elif not there:
        say(
            "the config has no evidence of its own: adding 'self check hallucination' (--flow chooses; facts under "
            "`instructions:`, a kb folder or $evidence make it 'check grounding')"
        )
        added = ["self check hallucination"]
    return [*there, *added]


def gives_evidence(config: Any, texts: dict[Path, str]) -> bool:
    """True if the app has a knowledge base, a retrieval rail, facts in its instructions, or a file naming evidence."""
    if any(marked_context(text) or statements(text) for text in instructions_of(config)):
        return True
    mentions = any("relevant_chunks" in text or "$evidence" in text for text in texts.values())
    return mentions or bool(config.docs) or bool(config.rails.retrieval.flows)


def _flows_with_flag(texts: dict[Path, str]) -> list[str]:
    names = variables_set(text for file, text in texts.items() if file.suffix == ".co")
    return [rail.flow for rail in RAILS.values() if rail.flag in names]


def _configured(config: Any, texts: dict[Path, str]) -> list[str]:
    """The output rails, without their parameters."""
    if config.colang_version != "2.x":
        return [flow_name(flow) for flow in config.rails.output.flows]
    return [flow for flow in RAILS if any(re.search(rf"^\s+(await )?{flow}\b", t, re.M) for t in texts.values())]


def _default_activation(config: Any, texts: dict[Path, str], flows: Sequence[str]) -> str | None:
    """`always`, unless the settings say something or a flow sets the flag of each rail that is added."""
    if "activation" in (config.custom_data.get("evidencerails") or {}):
        return None
    with_flag, there = _flows_with_flag(texts), _configured(config, texts)
    added = [flow for flow in flows if flow not in there]
    has_flags = all(flow in with_flag for flow in added) if added else any(flow in with_flag for flow in flows)
    return None if has_flags else "always"


def _edited(
    folder: Path, config: Any, texts: dict[Path, str], flows: Sequence[str], activation: str | None
) -> dict[Path, str]:
    is_2x, there = config.colang_version == "2.x", _configured(config, texts)
    new = _edited_colang_2(folder, config, texts, flows) if is_2x else {}
    yaml_texts = {file: text for file, text in texts.items() if file.suffix != ".co"}
    edits: list[tuple[Callable[..., str], tuple[str, ...], str]] = []
    if not is_2x:
        edits = [(add_item, ("rails", "output", "flows"), flow) for flow in flows if flow not in there]
        edits.append((add_item, ("import_paths",), IMPORT_PATH))
    colang = (text for file, text in texts.items() if file.suffix == ".co")
    names_one = any(model.type == "embeddings" for model in config.models)
    if not names_one and missing_embeddings(config, colang) and not can_download():
        say("no embedding model is here and none can be downloaded: adding the one inside the wheel")
        edits.append((add_item, ("models",), EMBEDDINGS))
    if activation:
        edits.append((set_default, ("custom_data", "evidencerails", "activation"), activation))
    for edit, path, value in edits:
        file = _home_of(path[0], yaml_texts, folder)
        try:
            yaml_texts[file] = edit(yaml_texts.get(file, ""), path, value)
        except (CannotEdit, yaml.YAMLError) as error:
            by_hand = f"add {value!r} under {'.'.join(path)} by hand, then run init again"
            raise CliError(f"{str(file)!r}: {error}; {by_hand}") from None
    return {**yaml_texts, **new}


def _home_of(key: str, texts: dict[Path, str], folder: Path) -> Path:
    """The file whose `key` takes effect: the last that has it, as NeMo merges them; else the main file."""
    having = [file for file, text in texts.items() if key in (_mapping(text))]
    if having:
        return having[-1]
    names = ("config.yml", "config.yaml")
    main = next((folder / name for name in names if folder / name in texts), None)
    with_models = [file for file, text in texts.items() if "models" in _mapping(text)]
    return main or next(iter(with_models or texts), folder / "config.yml")


def _mapping(text: str) -> dict[str, Any]:
    data = yaml.safe_load(text)
    return data if isinstance(data, dict) else {}


def _edited_colang_2(folder: Path, config: Any, texts: dict[Path, str], flows: Sequence[str]) -> dict[Path, str]:
    """Colang 2.x: an import, and the flows called in `output rails`."""
    colang = {file: text for file, text in texts.items() if file.suffix == ".co"}
    if any(WHOLE_LIBRARY.search(text) for text in colang.values()) or config.rails.output.flows:
        raise CliError(
            "this Colang 2.x config imports the whole of nemoguardrails.library (rails.output.flows in config.yml does "
            "so too), which holds flows of the same names; import the files you use one by one, and call your output "
            "rails in `flow output rails $output_text`"
        )
    colang = {file: LIBRARY_HALLUCINATION.sub(IMPORT_STATEMENT, text) for file, text in colang.items()}
    main = _main_colang(folder, colang)
    if not any(IMPORT_STATEMENT in text for text in colang.values()):
        colang[main] = _with_import(colang.get(main, ""), IMPORT_STATEMENT)
    home = next((file for file, text in colang.items() if OUTPUT_RAILS.search(text)), None)
    if home is None and not any(GUARDRAILS.search(text) for text in colang.values()):
        colang[main] = _with_import(colang[main], "import guardrails")
    for flow in flows:
        colang[home or main] = _with_output_rail(colang[home or main], flow)
    return colang


def _main_colang(folder: Path, colang: dict[Path, str]) -> Path:
    named = [file for file in colang if file.name == "main.co"]
    with_main = [file for file, text in colang.items() if re.search(r"^flow main\b", text, re.M)]
    return next(iter(with_main or named or colang), folder / "main.co")


def _with_import(text: str, statement: str) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    imports = list(ANY_IMPORT.finditer(text))
    if not imports:
        return f"{statement}{end}{end}{text}" if text else f"{statement}{end}"
    at = imports[-1].end()
    at -= text[:at].endswith("\r")
    return f"{text[:at]}{end}{statement}{text[at:]}"


def _with_output_rail(text: str, flow: str) -> str:
    """The flow called last in `output rails`, which is made if it is missing."""
    end = "\r\n" if "\r\n" in text else "\n"
    head = OUTPUT_RAILS.search(text)
    if head is None:
        gap = "" if text.endswith(end) else end
        return f"{text}{gap}{end}flow output rails $output_text{end}  {flow}{end}"
    body = re.match(r"(?:[ \t]+[^\n]*\n?|[ \t\r]*\n)*", text[head.end() :])
    inside = body.group() if body else ""
    if re.search(rf"^\s+(?:await )?{flow}\b", inside, re.M):
        return text
    kept = inside.rstrip()
    indent = next((m.group(1) for m in re.finditer(r"^([ \t]+)\S", inside, re.M)), "  ")
    rest = text[head.end() + len(kept) :]
    return f"{text[: head.end()]}{kept}{end if kept else ''}{indent}{flow}{rest if rest.strip(' ') else end}"


def _prove_that_it_loads(folder: Path, texts: dict[Path, str], flows: Sequence[str]) -> None:
    """Load a copy with the new texts; nothing is written to the user's folder before this. `CliError`: NeMo refuses it,
    the rail is not in what it read, or its settings are not valid."""
    with tempfile.TemporaryDirectory(prefix="evidencerails-init-") as copy:
        for file, text in texts.items():
            target = Path(copy) / file.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8"))
        try:
            config = load_config(Path(copy))
            missing = [flow for flow in flows if flow not in _configured(config, texts)]
            if missing:
                raise CliError(f"{missing[0]!r} is not among the output rails afterwards")
            GuardConfig.load(config.custom_data.get("evidencerails"))
        except EvidencerailsError as error:
            raise CliError(f"the config would not load with the rail in it, so nothing is written: {error}") from None
