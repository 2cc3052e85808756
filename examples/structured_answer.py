"""An answer as JSON: the schema goes to the model too, the answer is held against it, and a broken one never leaves.

Run:  python examples/structured_answer.py
"""

import asyncio
import json

from nemoguardrails import LLMRails, RailsConfig

from evidencerails import Guard
from evidencerails.testing import ReplayServer

SCHEMA = {
    "type": "object",
    "properties": {
        "order": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
        "status": {"enum": ["open", "shipped", "cancelled"]},
        "total": {"type": "number", "minimum": 0},
    },
    "required": ["order", "status", "total"],
    "additionalProperties": False,
}
CONFIG = """
import_paths: [evidencerails/plugin]
models: [{{type: main, engine: openai, model: gpt-4o-mini, parameters: {{base_url: "{url}", api_key: none}}}}]
rails: {{output: {{flows: [check structure]}}}}
custom_data:
  evidencerails:
    activation: always
    structure: {{schema: {schema}, constrain: response_format}}  # sent along
"""
ANSWERS = [
    '{"order": "AB-1234", "status": "shipped", "total": 41.5}',
    'Here you are:\n```json\n{"order": "AB-1234", "status": "lost", "total": -3}\n```',
    '{"order": "AB-1234", "status": "open"',
]


def app(url: str) -> str:
    """The config of the app, its model at that address."""
    return CONFIG.format(url=url, schema=json.dumps(SCHEMA))


async def main() -> None:
    """Three answers through an app with the rail on, and what the report says of each."""
    guard = Guard({"checks": ["structure"]})
    with ReplayServer() as server:  # plays the model
        server.say(*ANSWERS)
        rails = LLMRails(RailsConfig.from_content(yaml_content=app(server.base_url)))
        for said in ANSWERS:
            answer = await rails.generate_async(messages=[{"role": "user", "content": "Where is order AB-1234?"}])
            print(f"user reads: {answer['content']}")
            for finding in (await guard.check(said, schema=SCHEMA)).findings:
                print(f"            {finding.violation} {finding.reason}")
        asked = server.requests[0].body.get("response_format", {})
        print(f"the model was asked for: {asked.get('type')}")


if __name__ == "__main__":
    asyncio.run(main())
