"""An agent whose tool calls are checked against a database, before anything is called.

The example makes a SQLite file with customers. A call for one that exists goes out; one for a customer, an argument or
a tool that does not exist is held back.

Run:  python examples/agent_with_database.py
"""

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from nemoguardrails import LLMRails, RailsConfig

from evidencerails.testing import ReplayServer

YAML = """
models:
  - {type: main, engine: openai, model: gpt-4o-mini, parameters: {base_url: BASE_URL, api_key: none}}
passthrough: true
import_paths: [evidencerails/plugin]
rails: {tool_output: {flows: [check tool calls]}}
custom_data:
  evidencerails:
    on_unverified: block
    tools:
      sources: {customers: {kind: sqlalchemy, url: "sqlite:///DATABASE", table: customers, field: id}}
      resolvers: {customer_id: {source: customers}}
"""
TOOL = {
    "type": "function",
    "function": {
        "name": "close_account",
        "parameters": {
            "type": "object",
            "properties": {"customer_id": {"type": "string"}, "notify": {"type": "boolean"}},
            "required": ["customer_id"],
        },
    },
}
CALLS = [  # what the model wants to call
    ("close_account", {"customer_id": "C-1001", "notify": True}),
    ("close_account", {"customer_id": "C-1010"}),
    ("close_account", {"customer_id": "C-1001", "notify": "yes"}),
    ("close_all_accounts", {}),
]


def make_database(file: Path) -> None:
    """A file with three customers."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT)")
        rows = [("C-1001", "Ada Lovelace"), ("C-1002", "Grace Hopper"), ("C-2040", "Mary Jackson")]
        connection.executemany("INSERT INTO customers VALUES (?, ?)", rows)
        connection.commit()


async def main(database: Path) -> None:
    """Each call through an app with the rail on, and what the report says of it."""
    with ReplayServer() as server:  # plays the model
        yaml = YAML.replace("BASE_URL", server.base_url).replace("DATABASE", database.as_posix())
        rails = LLMRails(RailsConfig.from_content(yaml_content=yaml))
        for name, arguments in CALLS:
            server.reply(tool_calls=[{"name": name, "arguments": arguments}])
            result = await rails.generate_async(
                messages=[{"role": "user", "content": "Close Ada's account."}],
                options={"llm_params": {"tools": [TOOL]}, "output_vars": ["hallucination_report"]},
            )
            report = result.output_data["hallucination_report"]
            print(f"{name}({arguments})")
            print(f"  {'goes out' if result.tool_calls else 'held back: ' + result.response[0]['content']}")
            for finding in report["findings"]:
                print(f"  {finding['violation']}: {finding['reason']}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make_database(Path(folder) / "customers.db")
        asyncio.run(main(Path(folder) / "customers.db"))
