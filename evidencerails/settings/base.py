"""The base of all settings and the kinds of values that several of them have."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator


class Section(BaseModel):
    """Base of all settings: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    @field_validator("*", mode="before")
    @classmethod
    def _yaml_off_is_a_word(cls, value: Any, info: ValidationInfo) -> Any:
        """YAML 1.1 reads a bare `off` as false."""
        is_word = value is False and "off" in _choices(cls.model_fields[str(info.field_name)].annotation)
        return "off" if is_word else value


def _choices(annotation: Any) -> tuple[Any, ...]:
    inner = get_args(annotation)
    return inner if get_origin(annotation) is Literal else tuple(one for part in inner for one in _choices(part))


def ascending(*names: str) -> Any:
    """A validator: these fields must not fall, in this order."""

    def validate(section: Any) -> Any:
        values = [getattr(section, name) for name in names]
        if values != sorted(values):
            raise ValueError(f"expected {' <= '.join(names)}, got {', '.join(f'{value:g}' for value in values)}")
        return section

    return model_validator(mode="after")(validate)


def _http_url(value: str) -> str:
    if not (value.startswith(("http://", "https://")) and urlsplit(value).hostname):
        raise ValueError("expected a URL such as http://localhost:8080")
    return value


def _regular_expression(value: str) -> str:
    import regex

    try:
        regex.compile(value)
    except regex.error as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from None
    return value


Share = Annotated[float, Field(ge=0.0, le=1.0)]
Weight = Annotated[float, Field(ge=0.0)]
Positive = Annotated[float, Field(gt=0.0)]
Count = Annotated[int, Field(ge=1)]
HttpUrl = Annotated[str, AfterValidator(_http_url)]
Pattern = Annotated[str, AfterValidator(_regular_expression)]
