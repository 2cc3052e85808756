"""The mean of the weights of several runs, as a checkpoint.

    python -m training.blend --work-dir DIR CHECKPOINT=SHARE CHECKPOINT=SHARE [...]

What one run teaches costs some of what the one before it knew. Between the weights of two runs of which one went on
from the other lie weights that keep most of both (model soups, Wortsman et al. 2022; WiSE-FT, Wortsman et al. 2022).
What `export` and `evaluate` need of the last run named is copied beside them.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from rich.console import Console
from torch import Tensor

from training.common import share_of

console = Console(stderr=True)


def blended(parts: list[tuple[dict[str, Tensor], float]]) -> dict[str, Tensor]:
    """The mean of some states, each with its share.

    Raises:
        ValueError: the shares do not sum to 1.
    """
    total = sum(share for _, share in parts)
    if abs(total - 1) > 1e-6:
        raise ValueError(f"shares sum to {total:g}, not to 1")
    return {name: sum(state[name] * share for state, share in parts) for name in parts[0][0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", type=share_of, metavar="CHECKPOINT=SHARE")
    parser.add_argument("--work-dir", type=Path, required=True)
    arguments = parser.parse_args()
    paths = [Path(name) for name, _ in arguments.parts]
    states = [torch.load(path, map_location="cpu", weights_only=False) for path in paths]
    shares = [share for _, share in arguments.parts]
    average = blended([(state["average"], share) for state, share in zip(states, shares, strict=True)])
    last = paths[-1].parent.parent
    (arguments.work_dir / "run").mkdir(parents=True, exist_ok=True)
    run = json.loads((last / "run" / "run.json").read_text()) | {"share": shares[-1]}
    (arguments.work_dir / "run" / "run.json").write_text(json.dumps(run, indent=1))
    for name in ("prepare.json", "train.npz"):
        shutil.copyfile(last / name, arguments.work_dir / name)
    torch.save({"average": average, "step": states[-1]["step"]}, arguments.work_dir / "run" / "checkpoint.pt")
    console.log(f"{arguments.work_dir}: {', '.join(f'{share:g} of {path}' for path, share in arguments.parts)}")


if __name__ == "__main__":
    main()
