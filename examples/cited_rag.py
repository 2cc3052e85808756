"""A RAG answer with citations: each is looked up in the retrieved passages and read; three answers, one of them sound.

Run:  python examples/cited_rag.py
"""

import asyncio

from nemoguardrails import LLMRails, RailsConfig

from evidencerails import Guard
from evidencerails.settings.paths import data_folder
from evidencerails.testing import ReplayServer

PASSAGES = [
    "The Halden bridge opened in 1932. It is 412 metres long.",
    "The bridge was closed for repairs from 1998 to 2001.",
    "Tickets for the museum at the north tower cost 6 euros.",
]

CONVERSATION = [  # question, and what the model makes of it
    ("How long is the Halden bridge?", "The Halden bridge is 412 metres long [1]."),
    ("What does the museum cost?", "Tickets for the museum cost 6 euros (Lindqvist, 2021)."),
    ("When was it closed?", "The bridge was closed for repairs from 1998 to 2001 [1]."),
]


def numbered(passages: list[str]) -> str:
    """The passages as the model sees them: each under the number that it cites."""
    return "\n".join(f"[{number}] {passage}" for number, passage in enumerate(passages, start=1))


async def main() -> None:
    """Each answer through an app with the rail on, then what the report says of it."""
    guard = Guard({"checks": ["citations"]})
    with ReplayServer() as server:  # plays the model; without it, remove the next three lines and set OPENAI_API_KEY
        config = RailsConfig.from_path(str(data_folder("configs") / "citations"))
        config.models[0].parameters = {"base_url": server.base_url, "api_key": "none"}
        server.say(*(said for _, said in CONVERSATION))

        rails = LLMRails(config)
        for question, said in CONVERSATION:
            context = {"relevant_chunks": numbered(PASSAGES)}
            messages = [{"role": "context", "content": context}, {"role": "user", "content": question}]
            answer = await rails.generate_async(messages=messages)
            print(f"user: {question}\nbot:  {answer['content']}")
            report = await guard.check(said, evidence=PASSAGES)
            for finding in report.findings:
                print(f"      {finding.violation}: {finding.span.text!r}: {finding.reason}")
            print(f"      attribution precision {report.metrics['attribution_precision']:.0%}\n")


if __name__ == "__main__":
    asyncio.run(main())
