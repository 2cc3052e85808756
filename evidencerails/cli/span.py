"""Lengths of time as people type them."""

from __future__ import annotations

import re

from evidencerails.cli.errors import CliError

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}


def seconds_of(text: str) -> float:
    """Seconds of `30m`, `12h`, `7d` or `2w`.

    Raises:
        CliError: it is none of these.
    """
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip())
    if found is None or int(found[1]) == 0:
        raise CliError(f"{text!r} is no length of time; give a number and s, m, h, d or w, such as 7d")
    return int(found[1]) * SECONDS[found[2]]
