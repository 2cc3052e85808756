"""A new NLI backend is one file: nothing of the package has to know it."""

import importlib.util
from pathlib import Path

from evidencerails import Guard

BACKEND = '''
import numpy as np

class WordsInCommon:
    """Entailment is the share of a claim's words that the evidence has."""

    name, version, max_tokens, languages = "words-in-common", "7", 512, ("*",)

    def scores(self, pairs):
        shares = [len({*claim.split()} & {*text.split()}) / len(claim.split()) for text, claim in pairs]
        return np.array([(share, 1 - share, 0) for share in shares])

    def token_offsets(self, text):
        return [(at, at + 1) for at in range(len(text))]
'''


async def test_a_backend_of_one_file_reads_for_a_guard(tmp_path: Path) -> None:
    file = tmp_path / "words_in_common.py"
    file.write_text(BACKEND, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    guard = Guard(nli=module.WordsInCommon())
    try:
        right = await guard.check("Die Brücke wurde 1932 eröffnet.", evidence="Die Brücke wurde 1932 eröffnet.")
        wrong = await guard.check("Der Tunnel bleibt geschlossen.", evidence="Die Brücke wurde 1932 eröffnet.")
    finally:
        guard.close()
    assert (right.status, wrong.status) == ("grounded", "hallucinated")
    assert "words-in-common@7" in right.claims[0].version
