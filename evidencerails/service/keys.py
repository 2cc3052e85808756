"""API keys: made here, kept as hashes, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from evidencerails.errors import SettingsError
from evidencerails.settings.operations import ApiKey, Role, ServiceSettings
from evidencerails.settings.reading import YamlError, read_yaml

Permission = Literal["check", "read", "review", "admin"]
PERMISSIONS: dict[Role, frozenset[Permission]] = {
    "check": frozenset({"check"}),
    "read": frozenset({"read"}),
    "review": frozenset({"read", "review"}),
    "admin": frozenset({"check", "read", "review", "admin"}),
}
"""What each role may do."""
KEY_BYTES = 32
"""Random bytes of a key. With 256 bits nobody can guess one, so a plain hash is as good as a slow one."""
PREFIX = "gr_"
"""So that secret scanners and people recognise a key."""


def new_key() -> tuple[str, str]:
    key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    return key, hash_of(key)


def hash_of(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def keys_of(settings: ServiceSettings) -> tuple[ApiKey, ...]:
    """The keys of the settings and of their file. `SettingsError`: the file cannot be read, or two keys are alike."""
    keys = (*settings.keys, *(_read_keys(Path(settings.keys_file)) if settings.keys_file else ()))
    for part in ("name", "sha256"):
        values = [getattr(key, part) for key in keys]
        duplicate = next((value for value in values if values.count(value) > 1), None)
        if duplicate is not None:
            raise SettingsError(f"two API keys have the {part} {duplicate!r}; each needs its own")
    return keys


def find_key(keys: Sequence[ApiKey], presented: str) -> ApiKey | None:
    """The key that was presented; None if there is no such one. Takes as long whichever key it is."""
    given = hash_of(presented)
    found = [key for key in keys if hmac.compare_digest(given, key.sha256)]
    return found[0] if found else None


def _read_keys(file: Path) -> tuple[ApiKey, ...]:
    try:
        return TypeAdapter(tuple[ApiKey, ...]).validate_python(read_yaml(file) or ())
    except YamlError as error:  # without its words, which may quote the file
        raise SettingsError(f"cannot read API keys from {str(file)!r}: {type(error.__cause__).__name__}") from None
    except ValidationError as error:
        place = ".".join(str(part + 1) if isinstance(part, int) else part for part in error.errors()[0]["loc"])
        raise SettingsError(
            f"API keys in {str(file)!r}: {place}: {error.errors()[0]['msg']}; expected a list of name, role, sha256"
        ) from None
