"""NeMo Guardrails' own rail `self check facts`, without evidencerails. Run by run.py."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.update(DO_NOT_TRACK="1", OPENAI_API_KEY="any")
before = time.perf_counter()
from nemoguardrails import LLMRails, RailsConfig  # noqa: E402

IMPORT_S = time.perf_counter() - before
from cases import CASES, SLOW, TEN, TEN_EVIDENCE, done, rows_in  # noqa: E402
from measuring import stall, timed  # noqa: E402

CONFIG = """
models:
  - {{type: main, engine: openai, model: replay, parameters: {{base_url: "{url}"}}}}
rails: {{output: {{flows: [self check facts]}}}}
prompts:
  - task: self_check_facts
    content: |-
      evidence: {{{{ evidence }}}}
      hypothesis: {{{{ response }}}}
      Is the hypothesis supported by the evidence? Answer yes or no.
"""


async def shown(app: Any, answer: str, evidence: str) -> str:
    """What the user reads of an answer that stands ready."""
    messages = [
        {"role": "context", "content": {"relevant_chunks": evidence, "check_facts": True}},
        {"role": "user", "content": "Tell me."},
        {"role": "assistant", "content": answer},
    ]
    try:
        result = await app.generate_async(messages=messages, options={"rails": ["output"]})
    except Exception as error:
        return f"raised {type(error).__name__}"
    return "passed" if result.response[0]["content"] == answer else "flagged"


async def main() -> None:
    """All measurements that a rail asking an LLM allows."""
    app = LLMRails(RailsConfig.from_content(yaml_content=CONFIG.format(url=sys.argv[3])))
    found: dict[str, Any] = {"import_s": IMPORT_S}
    judged = {name: one for name, one in CASES.items() if one["judge"]}
    found["cases"] = {name: await shown(app, one["answer"], one["evidence"]) for name, one in judged.items()}
    rows = rows_in(sys.argv[1])[:40]
    await shown(app, "The first call loads what is loaded once.", TEN_EVIDENCE)
    found |= await timed(rows, lambda row: shown(app, row["response"], row["evidence"][0]))
    found |= await stall(lambda n: shown(app, f"{TEN} {SLOW} {n}.", TEN_EVIDENCE))
    done(found)


async def ten_claims() -> None:
    """One answer of ten claims; the runner counts the requests."""
    app = LLMRails(RailsConfig.from_content(yaml_content=CONFIG.format(url=sys.argv[3])))
    await shown(app, TEN, TEN_EVIDENCE)
    done({})


asyncio.run(ten_claims() if sys.argv[4] == "calls" else main())
