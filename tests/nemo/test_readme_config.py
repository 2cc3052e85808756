"""The config of the README, word for word: it blocks what is wrong and warns of nothing that is right."""

import re
from pathlib import Path

from nemo_apps import BLOCKED, CLEAN, MODEL, PLANTED, make_app, shown

from evidencerails.testing import ReplayServer


async def test_the_config_of_the_readme(server: ReplayServer, repository: Path) -> None:
    readme = (repository / "README.md").read_text(encoding="utf-8")
    (config,) = re.findall(r"```yaml\n(import_paths:.*?)```", readme, re.DOTALL)
    models = MODEL.format(base_url=server.base_url, more_models="").partition("import_paths")[0]
    assert await shown(make_app(models + config), server, PLANTED, CLEAN) == [BLOCKED, CLEAN]
