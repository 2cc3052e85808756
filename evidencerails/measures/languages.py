"""Whether a local model can read a text."""

from __future__ import annotations

from collections.abc import Sequence


def unknown_language(text: str, languages: Sequence[str]) -> str:
    """The reason `language: xx` if the text is in a language that the model does not know; empty if it can be read."""
    if "*" in languages:
        return ""
    from evidencerails.text.language import detect_language

    found = detect_language(text)
    return "" if found is None or found in languages else f"language: {found}"
