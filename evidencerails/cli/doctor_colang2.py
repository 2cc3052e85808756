"""The doctor's probes for Colang 2.x, where an app is a program: a copy gets another `main`, which plants answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from evidencerails.cli.catalog import RAILS
from evidencerails.cli.doctor_source import Source, called_in_output_rails, custom_callers
from evidencerails.cli.doctor_standin import Plant

FILE = "evidencerails_doctor.co"
_OWN_ENTRY = re.compile(r"^flow (main|input rails|output rails)\b", re.MULTILINE)
MAIN = """
flow main
  activate evidencerails doctor turns

flow evidencerails doctor turns
  user said something as $said
  global $evidence
{flags}
  $evidence = {evidence}
  if {number} in $said.transcript
    bot say {first}
  else
    bot say {second}

flow output rails $output_text
  {flow}
"""


def flows_to_probe(source: Source) -> list[str]:
    """The flows called in `output rails` that are ours or call our actions."""
    own = set(custom_callers(source))
    return [flow for flow in called_in_output_rails(source) if flow in RAILS or flow in own]


def write_probe(source: Source, flow: str, plants: Sequence[Plant], flags: Sequence[str]) -> None:
    """Rewrite the copy: the app's `main` and rails step aside, and the planted answers take their place."""
    for file, text in source.colang.items():
        if file.name != FILE:
            file.write_text(_OWN_ENTRY.sub(r"flow own \1 of the app", text), encoding="utf-8")
    lines = [f"  global ${flag}\n  ${flag} = True" for flag in flags]
    text = MAIN.format(
        flags="\n".join(lines),
        evidence=json.dumps(plants[0].evidence),
        number=json.dumps(numbered(plants[0], 1).rpartition(" ")[2]),
        first=json.dumps(plants[0].answer),
        second=json.dumps(plants[1].answer),
        flow=flow,
    )
    (source.folder / FILE).write_text(text, encoding="utf-8")


def numbered(plant: Plant, number: int) -> str:
    """The question by which the probe knows which answer to give."""
    return f"{plant.question} #{number}"


async def ask(app: Any, plant: Plant, number: int) -> dict[str, Any]:
    """One turn of the probe; a rail exception comes as an event."""
    reply = await app.generate_async(messages=[{"role": "user", "content": numbered(plant, number)}])
    for event in reply.get("events") or ():
        if str(event.get("type", "")).endswith("RailException"):
            return {"role": "exception", "content": event}
    return dict(reply)
