from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent / "store")]
from databases import postgresql_url, server, sqlite_url, url

__all__ = ["postgresql_url", "server", "sqlite_url", "url"]
