"""An installation whose model is damaged: the app starts, and no answer passes as checked."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nemo_apps import put_plugin_together

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


def test_a_damaged_model_file_leaves_the_answer_unverified(tmp_path: Path, repository: Path) -> None:
    """A copy of the package with its plugin, as a wheel would have put it together, in a process of its own."""
    package = Path(shutil.copytree(Path(evidencerails.__file__).parent, tmp_path / "site" / "evidencerails"))
    shutil.rmtree(package / "plugin", ignore_errors=True)
    put_plugin_together(repository, package / "plugin")
    file = package / "nli" / "model" / "model.onnx"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    site = str(package.parent)
    environment = {**os.environ, "PYTHONPATH": site, "COLANGPATH": site, "DO_NOT_TRACK": "1"}
    done = subprocess.run([sys.executable, "-c", TURN], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        '["unverified", "warn", null, "Rhenium melts at 1200 degrees Celsius.\\n\\nThis answer'
    )
    assert "check grounding: unverified, decision warn" in done.stderr and "ModelFileError" in done.stderr
