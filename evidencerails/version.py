"""The version, for whatever tells it to others; the package and the build read it here."""

__version__ = "0.1.0"
