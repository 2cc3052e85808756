"""The description `model.json` beside an embedded model: labels, limits, calibration and the checksums of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from evidencerails.errors import ModelFileError
from evidencerails.nli.base import LABELS

MODEL_FOLDER = Path(__file__).resolve().parent / "model"
DESCRIPTION, ONNX, TOKENIZER = "model.json", "model.onnx", "tokenizer.json"
KNOWN_SCHEMA = 2
REMEDY = (
    "install evidencerails again (in its source: `pip install --force-reinstall --no-deps .`), or set another model, "
    "such as `nli: {backend: transformers, model: ...}`"
)
_CHUNK_BYTES = 1 << 20


class ModelFile(BaseModel):
    """What `model.json` says about one of the files beside it."""

    sha256: str


class ModelDescription(BaseModel):
    """What `model.json` says. Keys that this version does not know are kept out of the way, not refused."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = Field(alias="schema")
    name: str
    version: str
    labels: tuple[str, ...] = LABELS
    """Order of the output columns."""
    max_length: int = Field(ge=16)
    """Longest pair in tokens, special ones included."""
    temperature: float = Field(default=1.0, gt=0.0)
    """Logits are divided by it: fitted on held-out pairs for exactly this file."""
    files: Mapping[str, ModelFile]

    @field_validator("schema_version")
    @classmethod
    def _known_schema(cls, value: int) -> int:
        if value > KNOWN_SCHEMA:
            raise ValueError(
                f"is {value}, this version of evidencerails reads up to {KNOWN_SCHEMA}; upgrade evidencerails"
            )
        return value

    @field_validator("labels")
    @classmethod
    def _the_three_labels(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if sorted(value) != sorted(LABELS):
            raise ValueError(f"must be the three labels {', '.join(LABELS)} in the order of the outputs, got {value!r}")
        return value

    @property
    def digest(self) -> str:
        """Eight characters that change with any of the model's files."""
        named = "".join(f"{name}{self.files[name].sha256}" for name in sorted(self.files))
        return hashlib.sha256(named.encode()).hexdigest()[:8]


def read_description(folder: Path) -> ModelDescription:
    """The description in `folder`.

    Raises:
        ModelFileError: it is missing, unreadable, or of a later schema.
    """
    path = folder / DESCRIPTION
    try:
        return ModelDescription.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ModelFileError(f"the embedded NLI model is missing: no file {path}; {REMEDY}") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be read: {_first_problem(error)}; {REMEDY}") from error


def verify_file(folder: Path, name: str, description: ModelDescription) -> Path:
    """Path of one of the model's files, its checksum verified.

    Raises:
        ModelFileError: it is missing, its checksum is not known or does not fit.
    """
    path = folder / name
    if name not in description.files:
        raise ModelFileError(f"{folder / DESCRIPTION} holds no sha256 of {name}; {REMEDY}")
    wanted = description.files[name].sha256
    try:
        found = _sha256(path)
    except OSError as error:
        raise ModelFileError(f"model file {path} cannot be read: {error}; {REMEDY}") from error
    if found != wanted.lower():
        raise ModelFileError(
            f"model file {path} is damaged: sha256 is {found[:16]}…, expected {wanted[:16]}… "
            f"({path.stat().st_size} bytes); {REMEDY}"
        )
    return path


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _first_problem(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))} {first['msg']}"
    return f"{type(error).__name__}: {error}"


def load_tokenizer(path: Path) -> Any:
    """A tokenizer that neither cuts nor pads.

    Raises:
        ModelFileError: the file cannot be read.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise ModelFileError(f"{path} cannot be read by tokenizers: {error}; {REMEDY}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a "</s>" or "[SEP]" written in a text stays text
    return tokenizer
