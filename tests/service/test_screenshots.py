"""The pictures of the documentation are made by a program that runs here too: every page of the dashboard, filled."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest
from extras import needs

needs("playwright.sync_api")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        shutil.which("chromium") is None, reason="no chromium on this machine: apt-get install chromium"
    ),
]
PNG = b"\x89PNG\r\n\x1a\n"


def screenshots(repository: Path) -> Any:
    spec = importlib.util.spec_from_file_location("screenshots", repository / "docs" / "screenshots.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def size_of(picture: Path) -> tuple[int, int]:
    data = picture.read_bytes()
    assert data.startswith(PNG)
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def test_every_page_can_be_photographed(tmp_path: Path, repository: Path) -> None:
    program = screenshots(repository)
    program.main(tmp_path / "images")
    for page in program.PAGES:
        name = f"dashboard-{page}.png"
        width, height = size_of(tmp_path / "images" / name)
        assert width == 1000 and height >= 760
        assert (repository / "docs" / "images" / name).is_file()
    kept = repository / "docs" / "images" / "made-from.txt"
    assert kept.read_text() == (tmp_path / "images" / kept.name).read_text(), "run: python docs/screenshots.py"
