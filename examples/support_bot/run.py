"""A support bot over forty help articles: its rail, a report page, a threshold from its own traffic, monitoring.

Run:  python examples/support_bot/run.py [FOLDER]          (needs: pip install '.[eval,store]')

Takes one to two minutes. What it writes (store, settings, pages) is in a temporary folder unless one is named.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from nemoguardrails import LLMRails, RailsConfig
from nemoguardrails.kb import kb

from evidencerails.adapters.nemo_plugin import plugin_of
from evidencerails.adapters.nemo_watch import recorded
from evidencerails.report_page import page
from evidencerails.testing import ReplayServer

HERE = Path(__file__).resolve().parent
QUESTIONS = yaml.safe_load((HERE / "questions.yml").read_text(encoding="utf-8"))
DAY = yaml.safe_load((HERE / "day.yml").read_text(encoding="utf-8"))
STORE = "sqlite:///bot.db"


class Bot:
    """The bot with some settings more; `server` plays its model, everything else is real."""

    def __init__(self, server: ReplayServer, **settings: object) -> None:
        config = RailsConfig.from_path(str(HERE / "config"))
        config.models[0].parameters = {"base_url": server.base_url, "api_key": "none"}
        config.custom_data["evidencerails"].update(settings)
        self.server, self.rails = server, LLMRails(config)

    def ask(self, question: str, answer: str) -> str:
        """What the user reads when the model answers so."""
        self.server.say(answer)
        return str(self.rails.generate(messages=[{"role": "user", "content": question}])["content"])

    def close(self) -> None:
        """Wait for the checks off the path, and for the store."""
        plugin = plugin_of(self.rails.runtime.llm_task_manager)
        assert plugin is not None
        plugin.wait_for_shadow()
        plugin.guard.close()


def thirty_questions(bot: Bot, page_of: Path | None = None) -> list[str]:
    """Each question with its right and its wrong answer: what is delivered, flagged, blocked.

    Returns: right answers that were held up and wrong ones that were not. The first wrong one blocked gets a page.
    """
    table = {side: {"delivered": 0, "flagged": 0, "blocked": 0} for side in ("right", "wrong")}
    mistakes = []
    for row in QUESTIONS:
        for side in table:
            answer = row[side].strip()
            with recorded(bot.rails) as reports:
                seen = bot.ask(row["question"], answer)
            fate = "delivered" if seen == answer else "flagged" if seen.startswith(answer) else "blocked"
            table[side][fate] += 1
            if (side == "right") != (fate == "delivered"):
                mistakes.append(
                    f"  {side}, {fate}: {row['question']}" + (f" ({row['why']})" if side == "wrong" else "")
                )
            elif fate == "blocked" and page_of is not None and not page_of.exists():
                page_of.write_text(page(reports[0], answer), encoding="utf-8")
    print(f"{'':14}" + "".join(f"{fate:>10}" for fate in table["right"]))
    for side, counts in table.items():
        print(f"{side + ' answers':14}" + "".join(f"{count:10}" for count in counts.values()))
    return mistakes


def a_day(server: ReplayServer, folder: Path, **settings: object) -> None:
    """The bot's traffic of a day in shadow mode: checked off the path, kept in the store, no answer changed."""
    bot = Bot(server, activation="shadow", store={"url": f"sqlite:///{folder / 'bot.db'}"}, **settings)
    for row in DAY:
        assert bot.ask(row["question"], row["answer"].strip()) == row["answer"].strip()
    bot.close()


def mark(file: Path) -> None:
    """What a person does in the evening: read the answers and mark the wrong ones."""
    wrong = {row["answer"].strip() for row in DAY if "wrong" in row}
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    marked = [{**row, "hallucinated": True} if row["response"] in wrong else row for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in marked), encoding="utf-8")


def evidencerails(folder: Path, command: str) -> None:
    """Run a command in the folder, and show it with what it says."""
    print(f"$ evidencerails {command}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "evidencerails", *shlex.split(command)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100"},
    )
    print(done.stdout + done.stderr, end="")
    if done.returncode not in (0, 1):  # 1: the error budget is exhausted
        raise SystemExit(done.returncode)


def main(folder: Path) -> None:
    """All of it, in order."""
    kb.CACHE_FOLDER = str(folder / "cache")  # NeMo keeps the articles' vectors in ./.cache else
    with ReplayServer() as server:
        print("== The rail at work\n")
        mistakes = thirty_questions(Bot(server), page_of=folder / "blocked.html")
        print("\nNot as it should be:", *sorted(mistakes), sep="\n")

        print("\n== A day in shadow mode, and a threshold from it\n")
        a_day(server, folder)
        evidencerails(folder, f"store export day.jsonl --store {STORE}")
        mark(folder / "day.jsonl")
        evidencerails(folder, "calibrate --run day.jsonl --max-false-warnings 0.1 --out calibration.yml")
        fitted = yaml.safe_load((folder / "calibration.yml").read_text(encoding="utf-8"))["evidencerails"]
        print(f"\n== The thirty questions with it: {fitted}\n")
        thirty_questions(Bot(server, **fitted))

        print("\n== The next day, and what the monitoring says\n")
        evidencerails(folder, f"change 'threshold from the first day' --author Ana --store {STORE}")
        a_day(server, folder, **fitted)
        evidencerails(folder, f"monitor --since 1d --store {STORE}")
        evidencerails(folder, f"report --since 1d --html monitoring.html --store {STORE}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]).resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="support-bot-") as temporary:
            main(Path(temporary))
