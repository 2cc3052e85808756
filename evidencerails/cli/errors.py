"""How a command fails: one line with the remedy on stderr, and an exit code that says what happened."""

from __future__ import annotations

from evidencerails.errors import EvidencerailsError

EXIT_GROUNDED = 0
EXIT_HALLUCINATED = 1
EXIT_USAGE = 2
EXIT_UNVERIFIED = 3

EXIT_CANNOT_WRITE = 74
"""The disk is full, or failed: `EX_IOERR` of sysexits.h."""

EXIT_BY_STATUS = {
    "grounded": EXIT_GROUNDED,
    "hallucinated": EXIT_HALLUCINATED,
    "unverified": EXIT_UNVERIFIED,
}


class CliError(EvidencerailsError):
    """The command was called in a way that cannot work; the message says what to do instead."""
