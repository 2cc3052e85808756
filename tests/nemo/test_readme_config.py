"""The config of the README, word for word: it blocks what is wrong and warns of nothing that is right."""

import re
from pathlib import Path

import pytest
from nemo_apps import BLOCKED, CLEAN, EVIDENCE, MODEL, PLANTED, make_app, script, user

from evidencerails.testing import ReplayServer


@pytest.mark.parametrize(("answer", "seen"), [(PLANTED, BLOCKED), (CLEAN, CLEAN)])
async def test_the_config_of_the_readme(server: ReplayServer, repository: Path, answer: str, seen: str) -> None:
    readme = (repository / "README.md").read_text(encoding="utf-8")
    (config,) = re.findall(r"```yaml\n(import_paths:.*?)```", readme, re.DOTALL)
    models = MODEL.format(base_url=server.base_url, more_models="").partition("import_paths")[0]
    script(server, answer)
    message = await make_app(models + config).generate_async(messages=user({"evidence": EVIDENCE}))
    assert message["content"] == seen
