"""The same rows and the same stub model through others and evidencerails, each in an environment of its own.

    python benchmarks/peers/run.py [--work DIR] [--rows 60] [--sizes]

Makes `DIR/<peer>` with a virtual environment for each peer (ChainCheck without torch). The NLI model of all of them
is replaced by the stub, or by the embedded model of evidencerails behind HTTP, so that they judge with the same
model. The LLM is a server on loopback that answers at once. `--sizes` also downloads the wheels
that `pip install` of each peer would bring (gigabytes; installs none), adds up what is in them, and keeps the sizes in
sizes.json. Prints JSON and writes the table into docs/benchmarks.md; what others publish stands below it, from
published.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cases import SLOW  # noqa: E402
from measuring import MODEL_S  # noqa: E402
from tables import machine, publish  # noqa: E402

from evidencerails.evaluation import metrics  # noqa: E402
from evidencerails.nli.service import load_model  # noqa: E402
from evidencerails.settings.llm import NliSettings  # noqa: E402
from evidencerails.testing import ReplayRequest, ReplayServer  # noqa: E402

ROWS = HERE.parent.parent / "tests" / "evaluation" / "rows.jsonl"
LIGHT = ("openai", "anthropic", "diskcache", "numpy", "pydantic", "fastapi", "slowapi", "typer", "rich", "httpx")
"""What ChainCheck imports besides torch, sentence-transformers and datasets, which the stub makes unnecessary."""
SELFCHECKGPT = ["selfcheckgpt==0.1.7"]
NEMO = ["nemoguardrails==0.24.1"]
SIZES = HERE / "sizes.json"
WHOLE = {
    "ChainCheck 0.6.0": ["chaincheck==0.6.0"],
    "SelfCheckGPT 0.1.7": SELFCHECKGPT,
    "NeMo `self check facts`": NEMO,
    "evidencerails": [str(HERE.parent.parent)],
}
"""What a user installs; the model weights that some load later are not in it."""
PEERS = {
    "ChainCheck 0.6.0": (
        "chaincheck_adapter.py",
        "chaincheck",
        "chaincheck",
        [["--no-deps", "chaincheck==0.6.0"], list(LIGHT)],
    ),
    "SelfCheckGPT 0.1.7": (
        "selfcheckgpt_adapter.py",
        "selfcheckgpt",
        "selfcheckgpt.modeling_selfcheck",
        [SELFCHECKGPT],
    ),
    "NeMo `self check facts`": ("nemo_adapter.py", "nemo", "nemoguardrails", [NEMO]),
    "evidencerails": ("evidencerails_adapter.py", None, "evidencerails", []),
}


def llm(request: ReplayRequest) -> str:
    """Answers in the shape each asks for; a case's prose where it is about the false answer."""
    text = request.last_user_text
    if SLOW in text:
        time.sleep(MODEL_S)
    if "Eiffel" in text:
        return "Sure! I think this is not supported at all."
    if "JSON array:" in text:
        return json.dumps(re.findall(r"The hall number \d of the museum was opened in \d+\.", text))
    if "<claims>" in text:
        numbers = re.findall(r"^(\d+)\. ", text.split("<claims>")[1], re.MULTILINE)
        verdict = {"facts": "f", "quote": "", "comparison": "c", "label": "absent", "error_types": ["other"]}
        return json.dumps({"verdicts": [{"claim": int(number), **verdict} for number in numbers]})
    if "yes or no" in text:
        return "no"
    return json.dumps({"label": "unsupported", "confidence": 0.9, "evidence": "none"})


class ModelServer:
    """The embedded NLI model over HTTP: pairs in, contradiction, entailment and neutral of each out."""

    def __init__(self) -> None:
        model = load_model(NliSettings())

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                pairs = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                scores = model.scores([tuple(pair) for pair in pairs])
                body = json.dumps([[float(c), float(e), float(n)] for e, n, c in scores]).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


def python_of(name: str | None, installs: list[list[str]], work: Path) -> str:
    """The interpreter of a peer's environment, made if need be; our own for what is installed here."""
    if name is None:
        return sys.executable
    folder = work / name
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        for packages in installs:
            subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return str(python)


def install_sizes(work: Path) -> dict[str, Any]:
    """What `pip install` of each peer brings into an empty environment: the wheels that pip chooses, unpacked.

    Nothing is installed: a wheel's own list says how large its files are. Caches that Python writes come on top.
    """
    found: dict[str, Any] = {"machine": machine()}
    local = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL")  # PyPI alone, as a user of it has it
    environment = {key: value for key, value in os.environ.items() if key not in local}
    environment["PIP_CONFIG_FILE"] = os.devnull
    for name, packages in WHOLE.items():
        folder = work / ("wheels-" + re.sub(r"\W+", "-", name))
        command = [sys.executable, "-m", "pip", "wheel", "-q", "-w", str(folder), *packages]
        subprocess.run(command, check=True, env=environment)
        wheels = list(folder.glob("*.whl"))
        unpacked = sum(one.file_size for file in wheels for one in zipfile.ZipFile(file).infolist())
        found[name] = {"mb": unpacked / 1e6, "packages": len(wheels),
                       "download_mb": sum(file.stat().st_size for file in wheels) / 1e6}  # fmt: skip
        shutil.rmtree(folder)
    return found


def measured(python: str, adapter: str, rows: Path, model: str, server: ReplayServer) -> dict[str, Any]:
    """The figures of one peer, with the requests it made for an answer of ten claims."""
    found = _ran(python, adapter, rows, model, server.base_url, "all")
    before = len(server.requests)
    _ran(python, adapter, rows, model, server.base_url, "calls")
    return {**found, "calls_for_10_claims": len(server.requests) - before}


def _ran(python: str, adapter: str, rows: Path, *arguments: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI")}
        command = [python, str(HERE / adapter), str(rows), *arguments]
        options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 900, "check": False}
        done = subprocess.run(command, cwd=folder, env=environment, **options)
    if done.returncode:
        raise SystemExit(f"{adapter} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def import_s(python: str, module: str) -> float:
    """Median processor time of three fresh imports, in seconds, without the interpreter's own start.

    Not the time on the clock, which on a busy machine is several times as much.
    """
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    runs = [subprocess.run([python, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    return statistics.median(float(run.stdout) for run in runs)


def quality(scores: list[Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """F1 and AUROC with intervals; a row without a score counts as told wrong."""
    labels = [row["hallucinated"] for row in rows]
    groups = [row["document"] for row in rows]
    values = [float(not label) if score is None else score for (_, score), label in zip(scores, labels, strict=True)]
    flags = [float(flag) for flag, _ in scores]
    return {
        "f1": metrics.bootstrap_interval(labels, flags, metrics.f1, groups=groups).as_dict(),
        "auroc": metrics.bootstrap_interval(labels, values, metrics.auroc, groups=groups).as_dict(),
    }


def table(found: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    """One column a peer."""
    rows: list[tuple[str, ...]] = [("", *found)]

    def line(name: str, shown: Any) -> None:
        rows.append((name, *(shown(one) for one in found.values())))

    def number(key: str, unit: str, digits: int = 0) -> Any:
        return lambda one: "-" if one.get(key) is None else f"{one[key]:.{digits}f}{unit}"

    def interval(key: str) -> Any:
        def shown(one: dict[str, Any]) -> str:
            metric = (one.get("quality") or {}).get(key)
            return "-" if metric is None else f"{metric['value']:.3f} [{metric['low']:.2f}, {metric['high']:.2f}]"

        return shown

    def size(one: dict[str, Any]) -> str:
        whole = one.get("install")
        return "-" if whole is None else f"{whole['mb']:,.0f} MB, {whole['packages']} packages"

    line("F1, same rows, same NLI model", interval("f1"))
    line("AUROC, same rows, same NLI model", interval("auroc"))
    line("own work a response, stub model (median)", number("overhead_ms", " ms", 1))
    line("responses/s one after the other, stub model", number("responses_per_s", ""))
    line("LLM calls for 10 claims", number("calls_for_10_claims", ""))
    line("event loop stands still, 8 checks, 0.5 s model", number("stall_ms", " ms"))
    line("8 checks at once, 0.5 s model", number("eight_checks_s", " s", 2))
    line("AUROC of its unigram variant", interval("unigram_auroc"))
    line("import, processor time", number("import_s", " s", 2))
    line("`pip install`, weights that are loaded later not counted", size)
    names = list(dict.fromkeys(name for one in found.values() for name in one["cases"]))
    for name in names:
        line(name, lambda one, name=name: one["cases"].get(name, "-"))
    return rows


def main() -> int:
    """Measure all and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "evidencerails-peers")
    parser.add_argument("--rows", type=int, default=60, help="of the 300 rows, drawn at random (default 60)")
    parser.add_argument("--sizes", action="store_true", help="measure what pip installs of each; gigabytes")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    rows = random.Random(20).sample(rows, options.rows)
    file = options.work / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    model, found = ModelServer(), {}
    with ReplayServer() as server:
        server.default(llm)
        for name, (adapter, environment, module, installs) in PEERS.items():
            python = python_of(environment, installs, options.work)
            found[name] = measured(python, adapter, file, model.url, server)
            found[name]["import_s"] = import_s(python, module)
            if scores := found[name].pop("scores", None):
                found[name]["quality"] = quality(scores, rows)
            if unigram := found[name].pop("unigram", None):
                found[name]["quality"]["unigram_auroc"] = quality([[0, one] for one in unigram], rows)["auroc"]
    if options.sizes:
        SIZES.write_text(json.dumps(install_sizes(options.work), indent=1) + "\n", encoding="utf-8")
    sizes = json.loads(SIZES.read_text(encoding="utf-8")) if SIZES.exists() else {}
    for name in found:
        found[name]["install"] = sizes.get(name)
    published = json.loads((HERE / "published.json").read_text(encoding="utf-8"))
    lines = table(found)
    for one in published:
        about = f"*published: {one['peer']}, {one['set']}, n = {one['n']}*"
        lines.append((about, one["figure"], one["source"], *[""] * (len(found) - 2)))
    publish("peers", lines, {"rows": len(rows), "peers": found, "published": published})
    return 0


if __name__ == "__main__":
    sys.exit(main())
