"""An installation whose files are damaged: the app starts or refuses to, and no answer passes as checked."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import evidencerails

pytestmark = pytest.mark.slow

TURN = """
import asyncio, json, logging
from nemoguardrails import LLMRails, RailsConfig
YAML = '''
import_paths: [evidencerails/plugin]
rails: {output: {flows: [check grounding]}}
custom_data: {evidencerails: {activation: always}}
'''
logging.basicConfig(level=logging.WARNING)
rails = LLMRails(RailsConfig.from_content(yaml_content=YAML))
messages = [
    {"role": "context", "content": {"evidence": "Rhenium melts at 3186 degrees Celsius."}},
    {"role": "user", "content": "Melting point?"},
    {"role": "assistant", "content": "Rhenium melts at 1200 degrees Celsius."},
]
options = {"rails": ["output"], "output_vars": ["hallucination_report"]}
result = asyncio.run(rails.generate_async(messages=messages, options=options))
report = result.output_data["hallucination_report"]
print(json.dumps([report["status"], report["decision"], report["hallucination_score"], result.response[0]["content"]]))
"""


@pytest.fixture
def installed(tmp_path: Path, repository: Path) -> Path:
    """A copy of the package with its plugin, as a wheel would have put it together; not on the path yet."""
    package = Path(shutil.copytree(Path(evidencerails.__file__).parent, tmp_path / "site" / "evidencerails"))
    shutil.rmtree(package / "plugin", ignore_errors=True)
    for folder in ("rails", "actions", "prompts"):
        shutil.copytree(repository / folder, package / "plugin" / folder)
    shutil.copy(repository / "plugin" / "config.py", package / "plugin")
    return package


def _run(package: Path) -> subprocess.CompletedProcess[str]:
    site = str(package.parent)
    environment = {**os.environ, "PYTHONPATH": site, "COLANGPATH": site, "DO_NOT_TRACK": "1"}
    return subprocess.run([sys.executable, "-c", TURN], env=environment, capture_output=True, text=True, timeout=300)


def _cut_in_half(package: Path) -> None:
    file = package / "nli" / "model" / "model.onnx"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _one_bit_flipped(package: Path) -> None:
    file = package / "nli" / "model" / "model.onnx"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def _missing(package: Path) -> None:
    (package / "nli" / "model" / "tokenizer.json").unlink()


@pytest.mark.parametrize("damage", [_cut_in_half, _one_bit_flipped, _missing])
def test_a_damaged_model_file_leaves_the_answer_unverified(installed: Path, damage: Callable[[Path], None]) -> None:
    damage(installed)
    done = _run(installed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        '["unverified", "warn", null, "Rhenium melts at 1200 degrees Celsius.\\n\\nThis answer'
    )
    assert "check grounding: unverified, decision warn" in done.stderr and "ModelFileError" in done.stderr


def test_an_action_file_that_fails_to_import_stops_the_app(installed: Path) -> None:
    """NeMo would log it and run its own action of the same name."""
    (installed / "plugin" / "actions" / "hallucination.py").write_text("import nowhere_to_be_found\n")
    done = _run(installed)
    assert done.returncode == 1 and not done.stdout
    assert "evidencerails: cannot start: these actions are not evidencerails' own" in done.stderr
    assert "hallucination.py: ModuleNotFoundError: No module named 'nowhere_to_be_found'" in done.stderr


def test_the_copy_is_what_runs(installed: Path) -> None:
    done = _run(installed)
    assert done.stdout.startswith('["hallucinated", '), done.stderr
