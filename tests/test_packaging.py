"""The wheel as a stranger gets it: built, installed into fresh environments, run from an empty directory."""

import inspect
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import evidencerails

pytestmark = pytest.mark.slow

# Taken at import: the fixtures clear proxies, which pip may need.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("COLANGPATH", "PYTHONPATH", "VIRTUAL_ENV")}
REPOSITORY = Path(__file__).resolve().parent.parent

GUARDED_TURN = '''
import asyncio, pathlib
from nemoguardrails import LLMRails, RailsConfig
from evidencerails.testing import ReplayServer

YAML = """
models:
  - {type: main, engine: openai, model: replay, parameters: {base_url: BASE_URL, api_key: none}}
import_paths: [evidencerails/plugin]
rails: {output: {flows: [check grounding]}}
custom_data:
  evidencerails: {activation: always, policies: [{when: {kind: unsupported_claim}, then: block}]}
"""
FACT = "Rhenium melts at 3186 degrees Celsius. It was discovered in 1925."

def turn(answer):
    with ReplayServer() as server:
        server.default(answer)
        rails = LLMRails(RailsConfig.from_content(yaml_content=YAML.replace("BASE_URL", server.base_url)))
        messages = [{"role": "context", "content": {"evidence": FACT}}, {"role": "user", "content": "Melting point?"}]
        return asyncio.run(rails.generate_async(messages=messages))["content"]

clean, wrong = "Rhenium melts at 3186 degrees Celsius.", "Rhenium melts at 1200 degrees Celsius."
assert turn(clean) == clean, turn(clean)
assert "1200" not in turn(wrong), turn(wrong)
print("guarded")
'''


def run(*command: str | Path, cwd: Path, timeout_s: float = 900) -> str:
    """Standard output of a command that must succeed."""
    environment = {**ENVIRONMENT, "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def pythons() -> dict[str, Path]:
    """Interpreters of the supported versions at hand, by version."""
    places = [Path(folder) for folder in ENVIRONMENT.get("PATH", "").split(os.pathsep)]
    places += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found = {}
    for minor in range(10, 14):
        for place in places:
            file = place / f"python3.{minor}"
            if file.is_file() and _works(file):
                found[f"3.{minor}"] = file
                break
    return found


def _works(python: Path) -> bool:
    # A shim of a version manager is there even if its version is not switched on.
    done = subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True, env=ENVIRONMENT)
    return done.returncode == 0


def environment_with(python: Path, folder: Path, *what: str | Path) -> Path:
    """A fresh virtual environment with something installed by plain pip; returns its `bin`."""
    run(python, "-m", "venv", folder, cwd=folder.parent)
    run(folder / "bin" / "pip", "install", "--quiet", "--prefer-binary", *what, cwd=folder.parent)
    return folder / "bin"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, REPOSITORY, cwd=out)
    return next(out.glob("*.whl"))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


@pytest.mark.wheel
def test_the_wheel_holds_what_nemo_and_the_engine_load(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder, inside in (
        ("rails", "evidencerails/plugin/rails"),
        ("actions", "evidencerails/plugin/actions"),
        ("prompts", "evidencerails/plugin/prompts"),
        ("configs", "evidencerails/configs"),
        ("evidencerails", "evidencerails"),
    ):
        files = [f.relative_to(REPOSITORY / folder) for f in (REPOSITORY / folder).rglob("*") if _is_data(f)]
        assert files, folder
        assert {f"{inside}/{file.as_posix()}" for file in files} <= names
    assert {"evidencerails/plugin/config.py", "evidencerails/py.typed"} <= names
    assert any(name.startswith("evidencerails/nli/model/") and name.endswith(".onnx") for name in names)
    assert not any(name.startswith(("tests/", "docs/", "benchmarks/", "training/")) for name in names)


def _is_data(file: Path) -> bool:
    return file.is_file() and file.suffix in (".co", ".py", ".yml", ".json", ".onnx", ".md", ".typed")


@pytest.mark.wheel
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_a_guarded_turn_on_the_oldest_and_newest_python(which: str, wheel: Path, tmp_path: Path, empty: Path) -> None:
    known = pythons()
    version = sorted(known, key=lambda v: int(v.split(".")[1]))[0 if which == "oldest" else -1]
    if len(known) == 1 and which == "newest":
        pytest.skip(f"only Python {version} is at hand")
    binaries = environment_with(known[version], tmp_path / "venv", wheel)
    assert run(binaries / "python", "-c", GUARDED_TURN, cwd=empty).endswith("guarded\n")
    assert run(binaries / "evidencerails", "--version", cwd=empty) == f"evidencerails {evidencerails.__version__}\n"
    if which == "oldest":
        run(binaries / "pip", "uninstall", "--quiet", "--yes", "evidencerails", cwd=empty)
        run(binaries / "pip", "install", "--quiet", "--no-deps", "-e", REPOSITORY, cwd=empty)
        assert run(binaries / "python", "-c", GUARDED_TURN, cwd=empty).endswith("guarded\n"), "editable install"


HEAVY = ("numpy", "torch", "onnxruntime", "transformers", "nemoguardrails", "pydantic", "fastapi", "openai",
         "langchain_core")  # fmt: skip


@pytest.mark.parametrize("module", ["evidencerails", "evidencerails.cli.main"])
def test_the_package_and_its_program_start_without_anything_heavy(module: str, tmp_path: Path) -> None:
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run(sys.executable, "-c", code, cwd=tmp_path) == "[]\n"


def test_all_public_names_resolve_and_are_listed() -> None:
    assert evidencerails.__all__ == ["__version__", *sorted(set(evidencerails.__all__) - {"__version__"})]
    for name in evidencerails.__all__:
        value = getattr(evidencerails, name)
        assert name == "__version__" or (
            (inspect.isclass(value) or inspect.isfunction(value)) and value.__name__ == name
        )
    assert dir(evidencerails) == sorted(evidencerails.__all__)


def test_one_module_reads_the_environment() -> None:
    """Secrets and addresses by the names of the settings; the commands look at the terminal's variables as well."""
    root = Path(evidencerails.__file__).parent
    readers = [
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        if re.search(r"os\.environ|getenv", file.read_text(encoding="utf-8"))
    ]
    assert [name for name in readers if not name.startswith("cli/")] == ["settings/environment.py"]


def test_the_changelog_names_the_version() -> None:
    assert f"## {evidencerails.__version__}" in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
