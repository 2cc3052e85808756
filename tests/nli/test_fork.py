"""A forked child makes its own session. A fresh process is forked: one with other people's threads may not be."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import asyncio, os, sys
from pathlib import Path
import numpy as np
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.service import NliService

model = EmbeddedModel(Path(sys.argv[1]), threads=2)
service = NliService(model)
pairs = [("paris", "yes")]
expected = model.scores(pairs)
assert np.allclose(asyncio.run(service.scores(pairs)), expected)
child = os.fork()
if child == 0:
    both = asyncio.run(service.scores(pairs)), model.scores(pairs)
    os._exit(0 if all(np.allclose(scores, expected) for scores in both) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_gets_the_same_scores(tiny_folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, tiny_folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]


ENCODER_SCRIPT = """
import os, sys
from evidencerails.measures.encoder import default_encoder

default_encoder().sentence_vectors(["a text"])
child = os.fork()
if child == 0:
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_that_leaves_the_encoder_behind_does_not_wait_for_its_threads() -> None:
    """Also where the encoder is imported before the NLI model: the order of the imports is that of the hooks."""
    subprocess.run([sys.executable, "-c", ENCODER_SCRIPT], check=True, timeout=60)
