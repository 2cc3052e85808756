"""Where files are: the plugin's own, installed or in a source tree, and those that settings name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evidencerails.errors import SettingsError

PACKAGE = Path(__file__).resolve().parent.parent


def plugin_folder() -> Path:
    """The folder that holds `rails/`, `actions/`, `prompts/` and `config.py`, as NeMo's `import_paths` needs it.
    `FileNotFoundError`: only a bare source tree is there."""
    import importlib.util
    import site
    import sysconfig

    candidates = [PACKAGE / "plugin"]
    spec = importlib.util.find_spec("nemoguardrails")
    if spec and spec.origin:
        candidates.append(Path(spec.origin).parent.parent / "evidencerails" / "plugin")
    candidates += [
        Path(place) / "evidencerails" / "plugin" for place in (sysconfig.get_path("purelib"), *site.getsitepackages())
    ]
    for folder in candidates:
        if (folder / "rails").is_dir() and (folder / "config.py").is_file():
            return folder
    raise FileNotFoundError(
        "no installed plugin folder: run `pip install .` (or `pip install -e .`) in the source tree"
    )


def data_folder(name: str) -> Path:
    """The folder `prompts`, `configs` or `rails` with the package's data. `FileNotFoundError`: it is nowhere."""
    places = (PACKAGE / "plugin" / name, PACKAGE / name, PACKAGE.parent / name)
    for folder in places:
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"no folder {name!r} in any of: {', '.join(map(str, places))}")


def existing_file(what: str, path: str, folders: Sequence[Path]) -> Path:
    """The file of a path, looked for in these folders, in the current one if there are none. `SettingsError`: there is
    none; the message begins with `what`."""
    given = Path(path).expanduser()
    tried = [given] if given.is_absolute() else [folder / given for folder in folders or (Path.cwd(),)]
    found = next((file for file in tried if file.is_file()), None)
    if found is None:
        raise SettingsError(f"{what}: there is no file {' or '.join(repr(str(file)) for file in tried)}")
    return found.resolve()
