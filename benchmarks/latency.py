"""Added latency of a guarded turn: the same NeMo turn with and without `check grounding`, in turns.

    python benchmarks/latency.py [--turns 40]

Answers of 5 sentences of about 20 tokens, 3 passages of about 120 tokens: one in the words of the passages, one in
words of its own, one of which two sentences are wrong. The answer comes from a local server, so all that differs
between the two turns is the rail. The bare forward is the embedded model alone on the same pairs.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from tables import publish

from evidencerails.nli.service import NliService
from evidencerails.testing import ReplayServer

FACTS = (
    "The northern tower of the Halden bridge was finished by local engineers in the spring of 1932 after long delays",
    "Two railway tracks cross the river on the bridge and carry about ninety trains on an ordinary working day",
    "The steel for the main span was rolled in a mill near Bergen and shipped along the coast in winter",
    "A small museum in the south tower shows the tools of the builders and the first drawings of the span",
    "The bridge was closed for repairs between 1998 and 2001 because the bearings of the main span had cracked",
)
MORE = (
    "Visitors reach the walkway by a lift that holds twelve people and runs every ten minutes until sunset",
    "Painters need seven years to renew the grey coat of the whole structure and then begin again at once",
    "The toll for lorries was abolished in 1974 when the northern motorway opened a few miles to the east",
    "Storms may stop the traffic for some hours when gusts exceed thirty metres per second at the gauge",
    "Peregrine falcons have nested below the deck since 1987 and raise two or three young in most years",
    "The foundation of the east pier rests on granite some eighteen metres below the bed of the river",
    "Engineers measure the movement of the joints twice a year and publish the figures in a short report",
    "A plaque beside the stairs names the eleven workers who lost their lives during the construction",
    "Trains slow down to sixty kilometres an hour because the curve before the bridge is rather narrow",
    "The lights on the towers were changed to lamps of low power in the autumn of the year 2015",
)
REWORDED = (
    "Local engineers completed the northern tower of the Halden bridge in the spring of 1932 after it had been delayed",
    "The bridge carries two railway tracks over the river, which some ninety trains use on a normal working day",
    "Steel for the main span came from a mill near Bergen, from where it was shipped down the coast during winter",
    "In the south tower there is a small museum with the builders' tools and the first drawings of the span",
    "Between 1998 and 2001 the bridge was shut for repairs, as the bearings of its main span had cracked",
)
WRONG = (
    *REWORDED[:3],
    "In the south tower there is a large restaurant whose owner collects the paintings of a local artist",
    "Between 1978 and 1981 the bridge was shut for repairs, as a cargo ship had damaged its main span",
)
ANSWERS = {"in the words of the passages": FACTS, "reworded": REWORDED, "two of five sentences wrong": WRONG}
QUESTION = "What can you tell me about the Halden bridge?"
YAML = """
models:
  - {type: main, engine: openai, model: replay, parameters: {base_url: BASE_URL, api_key: none}}
"""
RAIL = """
import_paths: [evidencerails/plugin]
rails: {output: {flows: [check grounding]}}
custom_data: {evidencerails: {activation: always}}
"""


def answer(kind: str = "in the words of the passages") -> str:
    """Five sentences; see `ANSWERS`."""
    return " ".join(f"{fact}." for fact in ANSWERS[kind])


def passages() -> list[str]:
    """Three passages, each with one or two of the facts among other sentences."""
    sentences = [f"{text}." for text in (*FACTS, *MORE)]
    return [" ".join(sentences[start::3]) for start in range(3)]


def recorded_pairs(app: Any) -> list[Any]:
    """Make the app's model note the pairs it scores."""
    from evidencerails.adapters.nemo_plugin import plugin_of

    service: NliService = plugin_of(app.runtime.llm_task_manager).guard._nli
    noted: list[Any] = []
    score = service.scores

    async def scores(pairs: Sequence[Any]) -> Any:
        noted.append(list(pairs))
        return await score(pairs)

    service.scores = scores  # type: ignore[method-assign]
    return noted


async def turn_ms(app: Any) -> float:
    """Milliseconds of one turn."""
    context = {"role": "context", "content": {"evidence": passages()}}
    started = time.perf_counter()
    message = await app.generate_async(messages=[context, {"role": "user", "content": QUESTION}])
    assert message["content"], message
    return (time.perf_counter() - started) * 1000


def bare_forward_ms(calls: Sequence[Sequence[Any]], repeats: int) -> float:
    """Median milliseconds of the model alone on the pairs of one turn."""
    from evidencerails.nli.service import load_model
    from evidencerails.settings.llm import NliSettings

    model = load_model(NliSettings())
    pairs = list(dict.fromkeys(pair for call in calls for pair in call))
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        model.scores(pairs)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


async def measure(kind: str, turns: int) -> dict[str, Any]:
    """Turns with and without the rail, alternating, after a warm-up of each."""
    from nemoguardrails import LLMRails, RailsConfig

    with ReplayServer() as server:
        server.default(answer(kind))
        yaml = YAML.replace("BASE_URL", server.base_url)
        plain = LLMRails(RailsConfig.from_content(yaml_content=yaml))
        guarded = LLMRails(RailsConfig.from_content(yaml_content=yaml + RAIL))
        calls = recorded_pairs(guarded)
        for _ in range(3):
            await turn_ms(plain), await turn_ms(guarded)
        calls.clear()
        pairs = [(await turn_ms(plain), await turn_ms(guarded)) for _ in range(turns)]
    of_one_turn = calls[: len(calls) // turns]
    bare = bare_forward_ms(of_one_turn, turns)
    added = [with_rail - without for without, with_rail in pairs]
    return {
        "turns": turns,
        "unguarded_ms": statistics.median(without for without, _ in pairs),
        "guarded_ms": statistics.median(with_rail for _, with_rail in pairs),
        "added_ms": statistics.median(added),
        "added_p95_ms": sorted(added)[int(0.95 * (len(added) - 1))],
        "nli_pairs": sum(map(len, of_one_turn)),
        "bare_forward_ms": bare,
        "ratio_to_bare_forward": statistics.median(added) / bare,
    }


def main() -> None:
    """Measure, print, write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    turns = parser.parse_args().turns
    os.environ["DO_NOT_TRACK"] = "1"
    logging.disable(logging.WARNING)
    os.chdir(tempfile.mkdtemp())  # NeMo also loads ./actions of the current directory
    data = {kind: asyncio.run(measure(kind, turns)) for kind in ANSWERS}
    heads = ("answer", "unguarded, ms", "guarded, ms", "**added**, ms", "95 %", "NLI pairs", "they alone, ms", "ratio")
    rows = [heads] + [
        (
            kind,
            f"{of['unguarded_ms']:.0f}",
            f"{of['guarded_ms']:.0f}",
            f"**{of['added_ms']:.0f}**",
            f"{of['added_p95_ms']:.0f}",
            str(of["nli_pairs"]),
            f"{of['bare_forward_ms']:.0f}",
            f"{of['ratio_to_bare_forward']:.2f}",
        )
        for kind, of in data.items()
    ]
    publish("latency", rows, data)


if __name__ == "__main__":
    main()
