"""What has to change in a guardrails config so that the rail is in it and NeMo still loads it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from evidencerails.adapters.nemo_evidence import instructions_of, marked_context, statements
from evidencerails.adapters.nemo_rails import IMPORT_PATH, IMPORT_STATEMENT, RAILS, flow_name
from evidencerails.adapters.nemo_source import config_files, read_exact, variables_set
from evidencerails.cli.common import CliError
from evidencerails.cli.init import Changes
from evidencerails.cli.installation import (
    EMBEDDINGS,
    can_download,
    load_config,
    make_plugin_visible,
    missing_embeddings,
)
from evidencerails.cli.terminal import say
from evidencerails.cli.yaml_edit import CannotEdit, add_item, set_default
from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError

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
