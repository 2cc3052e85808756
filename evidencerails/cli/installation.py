"""Does NeMo find this installation's plugin, is it the package's own, and is the embedding model of an app here?"""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evidencerails.adapters.nemo_install import found_plugin, search_path
from evidencerails.cli.common import CliError
from evidencerails.settings.environment import variable
from evidencerails.settings.paths import plugin_folder

EMBEDDINGS = "{type: embeddings, engine: evidencerails, model: embedded}"
"""The line under `models:` that needs no download."""
CONNECT_TIMEOUT_S = 3.0
_NEMO_DEFAULT = ("FastEmbed", "all-MiniLM-L6-v2")


def make_plugin_visible() -> str | None:
    """Let this process find the plugin even where NeMo would not.

    Returns: the shell line that the user's own processes need for it; None if NeMo finds the plugin by itself.

    Raises:
        CliError: there is no plugin folder at all.
    """
    if found_plugin() is not None:
        return None
    try:
        root = plugin_folder().parent.parent
    except FileNotFoundError as error:
        raise CliError(str(error)) from None
    search_path().append(str(root))
    return f"export COLANGPATH={shlex.quote(str(root))}"


def load_config(folder: Path) -> Any:
    """A guardrails config as NeMo loads it. `CliError`: NeMo refuses it, in NeMo's own words; or it is written for the
    first name of this product."""
    import warnings

    from nemoguardrails import RailsConfig

    from evidencerails.errors import SettingsError
    from evidencerails.settings.old_name import refuse_old_files

    try:
        refuse_old_files(folder)
    except SettingsError as error:
        raise CliError(str(error)) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations of the user's config are not this command's subject
            return RailsConfig.from_path(str(folder))
    except Exception as error:  # boundary to NeMo's parsers, which raise anything
        raise CliError(_without_settings(folder) or f"{type(error).__name__}: {error}") from None


def _without_settings(folder: Path) -> str | None:
    """Which file is empty or no mapping: NeMo breaks on one without naming it."""
    import yaml

    for file in sorted([*folder.rglob("*.yml"), *folder.rglob("*.yaml")]):
        try:
            data = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            continue  # NeMo's own message names the line
        if not isinstance(data, dict):
            found = "is empty" if data is None else f"holds a {type(data).__name__}"
            return f"{str(file)!r} {found}; expected settings such as `models: [...]`"
    return None


def missing_embeddings(config: Any, colang: Iterable[str]) -> str | None:
    """The embedding model that the app looks things up with and that is not on this machine; None if there is none.

    Args:
        config: as NeMo loaded it.
        colang: texts of the app's Colang files.
    """
    return next((model for engine, model in _used(config, colang) if not _is_here(engine, model)), None)


def can_download() -> bool:
    """True if the host that embedding models come from can be reached (`HF_ENDPOINT` and `HF_HUB_OFFLINE` count)."""
    if (variable("HF_HUB_OFFLINE") or "").strip().upper() in ("1", "TRUE", "YES", "ON"):
        return False
    url = urlsplit(variable("HF_ENDPOINT") or "https://huggingface.co")
    try:
        port = url.port or (80 if url.scheme == "http" else 443)
        socket.create_connection((url.hostname or "", port), CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError):
        return False
    return True


def _used(config: Any, colang: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Engine and model of each of NeMo's own searches that a turn runs: of messages and flows, and of documents."""
    named = next(((m.engine, m.model) for m in config.models if m.type == "embeddings"), _NEMO_DEFAULT)
    sections = [config.core] if _searches_messages(config, colang) else []
    sections += [config.knowledge_base] if config.docs else []
    for search in (section.embedding_search_provider for section in sections):
        if search.name == "default":
            own = search.parameters
            yield own.get("embedding_engine") or named[0], own.get("embedding_model") or named[1] or ""


def _searches_messages(config: Any, colang: Iterable[str]) -> bool:
    if config.colang_version == "2.x":
        return any(re.search(r"^import (llm|nemoguardrails\.library)\b", text, re.M) for text in colang)
    return bool(config.user_messages)


def _is_here(engine: str, model: str) -> bool:
    """True if nothing is downloaded: a model in the cache, or an engine that is a remote service or another package."""
    if engine.lower() == "fastembed":
        return _fastembed_has(model)
    if engine.lower() == "sentencetransformers":
        from huggingface_hub import try_to_load_from_cache

        name = model if "/" in model else f"sentence-transformers/{model}"
        return Path(model).is_dir() or isinstance(try_to_load_from_cache(name, "config.json"), str)
    return True


def _fastembed_has(model: str) -> bool:
    from fastembed import TextEmbedding
    from loguru import logger

    name = f"sentence-transformers/{model}" if model == _NEMO_DEFAULT[1] else model  # as NeMo's provider does
    logger.disable("fastembed")
    try:
        TextEmbedding(name, local_files_only=True, lazy_load=True)
    except Exception:  # boundary: its error for a model that is not in the cache has no class of its own
        return False
    finally:
        logger.enable("fastembed")
    return True
