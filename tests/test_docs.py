"""The documentation says what the program does: generated parts are current, links lead somewhere, code runs."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import re
from pathlib import Path
from types import ModuleType

import pytest

from evidencerails.config import GuardConfig

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_figures(text: str) -> str:
    """Scores and seconds may differ in their last digit from one processor to another."""
    return re.sub(r"\d+\.\d+", "#", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_and_printed_output_are_current(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    made = generator()
    assert without_figures(made.generated(made.with_real_output(text))) == without_figures(text), (
        "run: python docs/generate.py"
    )


def test_every_setting_is_documented_once() -> None:
    table = generator().settings_table()
    keys = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(keys) == len(set(keys))
    assert set(_paths(GuardConfig)) <= set(keys)
    assert table in (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert not re.findall(r"^.*\| +\|$", table, re.MULTILINE), "a key without a meaning"


def _paths(model: type, path: str = "") -> list[str]:
    """Every leaf of the settings, found another way than the generator does: from the JSON schema."""
    schema = model.model_json_schema(by_alias=True)  # type: ignore[attr-defined]

    def walk(node: dict, at: str) -> list[str]:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
        for option in node.get("anyOf", ()):
            if "$ref" in option:
                return walk(option, at)
        if "properties" in node:
            return [
                leaf for name, child in node["properties"].items() for leaf in walk(child, f"{at}.{name}".lstrip("."))
            ]
        items = node.get("items", {})
        return walk(items, f"{at}[]") if "$ref" in items and "properties" in _target(items) else [at]

    def _target(node: dict) -> dict:
        return schema["$defs"][node["$ref"].rpartition("/")[2]]

    return walk(schema, path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_python_of_the_readme_prints_what_stands_below_it() -> None:
    blocks = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    pairs = [(a[1], b[1]) for a, b in itertools.pairwise(blocks) if a[0] == "python" and b[0] == "text"]
    assert pairs
    for code, expected in pairs:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "README.md", "exec"), {})
        assert out.getvalue() == expected


def python_of_the_docs() -> list[tuple[str, str]]:
    """Page and code of each Python block in docs/; the README's have a test of their own."""
    pages = [page for page in PAGES if page.parent.name == "docs"]
    blocks = ((page.name, *found) for page in pages for found in FENCE.findall(page.read_text(encoding="utf-8")))
    return [(page, code) for page, language, code in blocks if language == "python"]


@pytest.mark.parametrize("page, code", python_of_the_docs(), ids=lambda value: value[:40])
def test_the_python_of_the_pages_runs_and_prints_the_comments_at_its_end(page: str, code: str) -> None:
    from langchain_core.runnables import RunnablePassthrough

    expected = re.search(r"(?:^# .*\n)*\Z", code, re.MULTILINE)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, page, "exec"), {"rag": RunnablePassthrough()})  # what a page takes for given
    assert expected is not None and out.getvalue() == re.sub("^# ", "", expected[0], flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_yaml_of_the_pages_loads(page: Path) -> None:
    import yaml

    for language, code in FENCE.findall(page.read_text(encoding="utf-8")):
        if language != "yaml":
            continue
        data = yaml.safe_load(code)
        GuardConfig.load((data.get("custom_data") or {}).get("evidencerails"))


def test_the_readme_fits_two_screens() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 130
