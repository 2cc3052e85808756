"""Where the plugin's data files are, installed (in the package) or in a source tree (at its root)."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def plugin_folder() -> Path:
    """The folder that holds `rails/`, `actions/`, `prompts/` and `config.py`, as NeMo's `import_paths` needs it.

    Raises:
        FileNotFoundError: only a bare source tree is there.
    """
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
    """The folder `prompts`, `configs` or `rails` with the package's data.

    Raises:
        FileNotFoundError: it is nowhere.
    """
    places = (PACKAGE / "plugin" / name, PACKAGE / name, PACKAGE.parent / name)
    for folder in places:
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"no folder {name!r} in any of: {', '.join(map(str, places))}")
