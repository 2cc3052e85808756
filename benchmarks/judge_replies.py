"""Replies of a real large language model to prompts of the product: recorded, served again, and asked for.

    python benchmarks/judge_replies.py --take FOLDER --answered-by NAME   # keep replies-N.jsonl of that folder

`judge.py` and `judge_tasks.py` write the requests that nobody has answered yet into `requests-N.jsonl` (`id`, `task`,
`messages`: no label, no name of a case, in shuffled order). `replies-N.jsonl` (`id`, `reply`) goes beside, unedited.
A reply is kept by its key, the hash of the messages: a prompt that was changed finds none. Messages that quote rows
of public sets are not kept, only their key."""

from __future__ import annotations

import argparse
import datetime
import functools
import gzip
import hashlib
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from evidencerails.llm.session import estimated_tokens
from evidencerails.testing import ReplayRequest, ReplayServer

REPLIES = Path(__file__).parent / "judge" / "replies.jsonl.gz"
PROMPTS = Path(__file__).parent.parent / "prompts"
NOT_RECORDED = 418
"""HTTP status of a request that nobody has answered; no client tries it again."""
REQUESTS_A_FILE = 80
_OWN, _PUBLIC = "o-", "p-"
"""Beginnings of a request's id: about passages of this project, or about rows of others."""


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSON-lines file, compressed or not."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def key_of(messages: Sequence[dict[str, Any]]) -> str:
    """Hash of what a model is shown."""
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()[:20]


class Spent(NamedTuple):
    """What one request took, in tokens of four characters, as the product estimates them."""

    task: str
    shown: int
    written: int


class Recorded:
    """Replies by key, served over HTTP; requests without one are kept, and answered with status 418.

    A question about some claims of a recorded list is answered by their entries of that list, as they stand there: so
    one recording serves every setting of the cascade. A second question is another one, with entries of its own.
    """

    def __init__(self) -> None:
        self.rows = {row["key"]: row for row in rows_of(REPLIES)} if REPLIES.exists() else {}
        self.missing: dict[str, tuple[bool, list[dict[str, Any]]]] = {}
        self.is_public = False
        """True while rows of others are asked about."""
        self.firsts = self.repairs = 0
        self.spent: list[Spent] = []
        """Of each request that was answered."""
        self._entries: dict[tuple[str, str], dict[str, Any]] = {}
        for row in self.rows.values():
            self._entries |= entries_of(row["messages"], row["reply"])

    def serve(self, server: ReplayServer) -> None:
        """Script a server with the replies."""
        server.reply(lambda request: self.reply_to(request.body["messages"]) or "", when=self._is_known)
        server.reply(status=NOT_RECORDED, message="not recorded", when=self._is_missing)

    def reply_to(self, messages: list[dict[str, Any]]) -> str | None:
        """The recorded reply, or one put together from recorded entries; None if there is neither."""
        if row := self.rows.get(key_of(messages)):
            self._entries |= entries_of(messages, row["reply"])  # of rows of others no messages are kept
            return str(row["reply"])
        context, claims = asked_in(messages)
        found = [self._entries.get((context, claim)) for claim in claims]
        if not claims or len(messages) > 2 or not all(found):
            return None
        numbered = [{**entry, "claim": number} for number, entry in enumerate(found, 1) if entry]
        return json.dumps({"verdicts": numbered})

    def _is_known(self, request: ReplayRequest) -> bool:
        messages = request.body["messages"]
        if len(messages) > 2:
            self.repairs += 1
        else:
            self.firsts += 1
        reply = self.reply_to(messages)
        if reply is not None:
            shown = sum(len(str(one["content"])) for one in messages)
            self.spent.append(Spent(task_of(messages), estimated_tokens(shown), estimated_tokens(len(reply))))
        return reply is not None

    def _is_missing(self, request: ReplayRequest) -> bool:
        messages = request.body["messages"]
        self.missing[key_of(messages)] = (self.is_public, messages)
        return True


def asked_in(messages: Sequence[dict[str, Any]]) -> tuple[str, list[str]]:
    """What stands around the numbered claims of a question that classifies claims, and the claims."""
    text = str(messages[-1]["content"])
    head, mark, rest = text.partition("<claims>")
    listed, _, note = rest.partition("</claims>")
    is_classification = mark and "error_types" in str(messages[0]["content"])
    lines = listed.strip().split("\n") if is_classification else []
    return head + note, [line.partition(". ")[2] for line in lines if re.match(r"\d+\. ", line)]


def entries_of(messages: Sequence[dict[str, Any]], reply: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Verdicts of a recorded list by what stands around it and claim; none of a reply that is no plain JSON."""
    context, claims = asked_in(messages) if messages else ("", [])
    try:
        verdicts = json.loads(reply)["verdicts"] if claims else []
    except (ValueError, KeyError, TypeError):
        return {}
    numbered = {v.get("claim"): v for v in verdicts if isinstance(v, dict)}
    return {(context, claim): numbered[n] for n, claim in enumerate(claims, 1) if n in numbered}


def task_of(messages: Sequence[dict[str, Any]]) -> str:
    """The task whose prompt begins like these messages."""
    shown = str(messages[0]["content"])
    return next((task for task, beginning in _beginnings() if shown.startswith(beginning)), "unknown")


@functools.cache
def _beginnings() -> list[tuple[str, str]]:
    """Each prompt's task and first words, the longest first: some begin alike."""
    found = []
    for path in PROMPTS.glob("*.yml"):
        for prompt in yaml.safe_load(path.read_text(encoding="utf-8"))["prompts"]:
            found.append((str(prompt["task"]), str(prompt["messages"][0]["content"]).partition("{{")[0][:400]))
    found = [one for one in found if one[1]]
    return sorted(found, key=lambda one: -len(one[1]))


def write_missing(folder: Path, recorded: Recorded) -> list[Path]:
    """The requests that nobody has answered, in shuffled order, some 80 in a file; files that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    there = [row["id"] for path in folder.glob("requests-*.jsonl") for row in rows_of(path)]
    rows = [
        {"id": (_PUBLIC if is_public else _OWN) + key, "task": task_of(messages), "messages": messages}
        for key, (is_public, messages) in recorded.missing.items()
    ]
    fresh = [row for row in rows if row["id"] not in there]
    random.Random(len(there)).shuffle(fresh)
    number = len(list(folder.glob("requests-*.jsonl")))
    files = []
    count = -(-len(fresh) // REQUESTS_A_FILE)
    for part in range(count):
        number += 1
        path = folder / f"requests-{number}.jsonl"
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in fresh[part::count])
        path.write_text("".join(lines), encoding="utf-8")
        files.append(path)
    print(f"{len(rows)} requests without a reply, {len(fresh)} of them new: {', '.join(map(str, files)) or 'no file'}")
    return files


def take(folder: Path, answered_by: str) -> None:
    """Keep the replies that stand beside their requests, unedited; of requests about rows of others the key alone."""
    rows = {row["key"]: row for row in rows_of(REPLIES)} if REPLIES.exists() else {}
    today = datetime.date.today().isoformat()
    for path in sorted(folder.glob("replies-*.jsonl")):
        requests = path.with_name(path.name.replace("replies", "requests"))
        asked = {row["id"]: row["messages"] for row in rows_of(requests)}
        for row in rows_of(path):
            messages = asked[row["id"]]
            kept = messages if row["id"].startswith(_OWN) else []
            key = key_of(messages)
            new = {"key": key, "messages": kept, "reply": row["reply"], "answered_by": answered_by, "date": today}
            rows.setdefault(key, new)
    REPLIES.parent.mkdir(exist_ok=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values())
    REPLIES.write_bytes(gzip.compress(lines.encode(), mtime=0))
    print(f"{len(rows)} replies in {REPLIES}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", type=Path, required=True, help="keep the replies of this folder")
    parser.add_argument("--answered-by", required=True, help="who or what answered")
    arguments = parser.parse_args()
    take(arguments.take, arguments.answered_by)


if __name__ == "__main__":
    main()
