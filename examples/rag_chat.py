"""A chat over retrieved passages: hand them to NeMo as `relevant_chunks`, and every answer is held against them.

Run:  python examples/rag_chat.py
"""

from nemoguardrails import LLMRails, RailsConfig

from evidencerails.settings.paths import data_folder
from evidencerails.testing import ReplayServer

PASSAGES = [
    "The Halden bridge opened in 1932. It is 412 metres long.",
    "The bridge carries two railway tracks. It was closed for repairs from 1998 to 2001.",
    "Tickets for the museum at the north tower cost 6 euros.",
]

CONVERSATION = [  # question, and what the model makes of it
    ("How long is the Halden bridge?", "The Halden bridge is 412 metres long."),
    ("When did it open?", "The Halden bridge opened in 1912."),
    ("What does the museum cost?", "Tickets for the museum cost 6 euros. Children under 12 enter for free."),
]


def retrieve(question: str, limit: int = 2) -> list[str]:
    """The passages that share most words with the question; your vector store goes here."""
    words = set(question.lower().strip("?").split())
    return sorted(PASSAGES, key=lambda passage: -len(words & set(passage.lower().split())))[:limit]


def main() -> None:
    """Three questions: one answered from the passages, one against them, one beyond them."""
    with ReplayServer() as server:  # plays the model; without it, remove the next three lines and set OPENAI_API_KEY
        config = RailsConfig.from_path(str(data_folder("configs") / "grounded_rag"))
        config.models[0].parameters = {"base_url": server.base_url, "api_key": "none"}
        server.say(*(said for _, said in CONVERSATION))

        rails = LLMRails(config)
        for question, _ in CONVERSATION:
            context = {"relevant_chunks": "\n".join(retrieve(question))}
            messages = [{"role": "context", "content": context}, {"role": "user", "content": question}]
            print(f"user: {question}\nbot:  {rails.generate(messages=messages)['content']}\n")


if __name__ == "__main__":
    main()
