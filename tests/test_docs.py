"""The documentation says what the program does: every page is run, links lead somewhere, each page is found."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

from evidencerails.cli.main import app
from evidencerails.config import GuardConfig
from tests.extras import needs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


@pytest.mark.timeout(900)  # a page runs all its commands; on a busy machine each takes its time
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_and_printed_output_are_current(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    made = generator()
    assert without_figures(made.generated(made.with_real_output(text))) == without_figures(text), (
        "run: python docs/generate.py"
    )


def test_every_setting_is_documented_once() -> None:
    table = generator().settings_tables()
    keys = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(keys) == len(set(keys))
    assert set(_paths(GuardConfig)) <= set(keys)
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


def test_tests_that_a_page_names_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "reference" / "audit.md").read_text(encoding="utf-8")))
    sources = (file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    assert named and not named - set(re.findall(r"def (test_\w+)", "\n".join(sources)))


def test_a_run_page_shows_what_its_commands_and_programs_print_in_one_folder() -> None:
    page = """```console
$ evidencerails init app --yes
made up
```

```python
from pathlib import Path

print("check grounding" in Path("app/config.yml").read_text(), len(Path("returns.txt").read_text()))
# made up
```
"""
    real = generator().with_real_output(page)
    assert "made up" not in real
    assert "+      - self check hallucination\n" in real
    assert real.endswith("\n# False 91\n```\n")


def test_output_of_which_only_figures_differ_is_left_as_it_is() -> None:
    made = generator()
    page = made.with_real_output(
        "```console\n$ evidencerails store init\n$ evidencerails change prompt --author ada\n```\n"
    )
    older = re.sub(r"\d{4}-\S+Z prompt", "2001-01-01T00:00:00.000Z prompt", page)
    assert older != page
    assert made.with_real_output(older) == older
    assert made.with_real_output(older, figures=True) != older
    assert made.with_real_output(older.replace("Z prompt", "Z made up")) != older.replace("Z prompt", "Z made up")


def test_every_page_is_two_clicks_from_the_front_page() -> None:
    """Every settings page included, and each section of the settings."""
    front = ROOT / "docs" / "index.md"
    first = links(front)
    assert first | {front} | {target for page in first for target in links(page)} >= set(PAGES[2:])
    assert front in links(ROOT / "README.md")
    reference = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    sections = {path.partition(".")[0].partition("[")[0] for path in _paths(GuardConfig) if re.search(r"[.\[]", path)}
    assert sections <= set(re.findall(r"^## (\w+)$", reference, re.MULTILINE))


def links(page: Path) -> set[Path]:
    """The pages that a page links to."""
    targets = re.findall(r"\]\((?!https?:)([^)#]+\.md)", page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets}


def test_the_site_builds(tmp_path: Path) -> None:
    """A page that the navigation lacks, or a link that leads nowhere, fails; --quiet would hide it."""
    needs("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # an advertisement on standard error
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "I have a RAG bot" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not re.search(r'<(?:link|script|img)[^>]+="https?:', (tmp_path / "index.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_commands_and_options_that_a_page_names_exist(page: Path) -> None:
    """Also those that are not run: in shell blocks and within a sentence."""
    text = page.read_text(encoding="utf-8").replace("\\\n", "")
    unknown = []
    for line in re.findall(r"(?:^|`|\| |&& |\$ )evidencerails ([a-z][^`\n]*)", text, re.MULTILINE):
        command, words = get_command(app), line.partition("#")[0].partition(" && ")[0].split()
        while words and hasattr(command, "commands"):
            command, name = command.commands.get(words[0]), words.pop(0)
            if command is None:
                unknown.append(name)
        known = {option for one in getattr(command, "params", ()) for option in (*one.opts, *one.secondary_opts)}
        unknown += [word for word in words if re.match("--?[a-z]", word) and word.partition("=")[0] not in known]
    assert unknown == []


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


def test_no_command_can_install_what_somebody_else_puts_on_an_index_under_our_name() -> None:
    files = [file for kind in ("md", "py", "yml", "ipynb") for part in ("docs", "configs", "examples", "evidencerails")
             for file in (ROOT / part).rglob(f"*.{kind}")]  # fmt: skip
    found = [
        (file.name, line)
        for file in [*PAGES, *files]
        for line in re.findall(r"""(?<!-m )pip install(?: --?[\w-]+)* ["']?evidencerails\b""", file.read_text("utf-8"))
    ]
    assert found == [], "write `pip install .` or `.[extra]`: the name is nobody's on PyPI until it is published"
