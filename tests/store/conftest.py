from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from databases import postgresql_url, server, sqlite_url, url

__all__ = ["postgresql_url", "server", "sqlite_url", "url"]
