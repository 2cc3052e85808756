"""What the doctor plants: answers of known worth, and what stands in for the user's models, sources and schema.

Which answer fits the user's own schema, and which values their sources know, cannot be known here: what is proven is
that the rail runs and that its verdict is right.
"""

from __future__ import annotations

import itertools
import threading
from typing import Any, NamedTuple

from evidencerails.testing import ReplayRequest, ReplayServer

MARK = "EVIDENCERAILS-DOCTOR"
"""Begins the prompts that stand in for those of the dialog tasks, so that the stand-in knows what it is asked."""
DIALOG_TASKS = ("generate_user_intent", "generate_next_steps", "generate_intent_steps_message")
MODEL = "evidencerails-doctor"
KNOWN_ID = "GD-1001"
TOOL = {"name": "evidencerails_doctor_ping", "parameters": {"type": "object", "properties": {}}}


class Plant(NamedTuple):
    """An answer of known worth: what is asked, what the source says, and what the model says when asked again."""

    question: str
    evidence: str
    answer: str
    others: tuple[str, ...]
    is_hallucination: bool


# Each answer cites its source, since `check citations` would find fault with any other; no other rail reads the mark.
HALLUCINATION = Plant(
    question="When did the Halden bridge open?",
    evidence="The Halden bridge opened in 1932. It is 412 metres long and carries two railway tracks.",
    answer="The Halden bridge opened in 1875 [1].",
    others=tuple(f"The Halden bridge opened in {year}." for year in (1911, 1954, 1839)),
    is_hallucination=True,
)
CLEAN = HALLUCINATION._replace(
    answer="The Halden bridge opened in 1932 [1].",
    others=("The Halden bridge opened in 1932.",),
    is_hallucination=False,
)
LIVE_HALLUCINATION = Plant(
    question="What is the capital of France?",
    evidence="Paris is the capital of France.",
    answer="The capital of France is Lyon [1].",
    others=(),
    is_hallucination=True,
)
LIVE_CLEAN = LIVE_HALLUCINATION._replace(answer="The capital of France is Paris [1].", is_hallucination=False)
SPECIAL_PLANTS: dict[str, tuple[Plant, Plant]] = {
    "check knowledge": (
        HALLUCINATION._replace(answer="The bridge has the register number GD-9999."),
        CLEAN._replace(answer=f"The bridge has the register number {KNOWN_ID}."),
    ),
    "check structure": (
        HALLUCINATION._replace(answer='{"opened": "in spring"}'),
        CLEAN._replace(answer='{"opened": 1932}'),
    ),
    "check logic": (
        HALLUCINATION._replace(answer="Both tracks together are 2 * 412 = 825 metres long."),
        CLEAN._replace(answer="Both tracks together are 2 * 412 = 824 metres long."),
    ),
}
"""A false and a true answer for the rails that a wrong year does not concern."""
SPECIAL_SETTINGS: dict[str, dict[str, Any]] = {
    "check knowledge": {
        "knowledge": {
            "sources": {"doctor": {"kind": "callable", "function": "evidencerails.cli.doctor_plants:is_known"}},
            "entities": {"doctor": {"sources": ["doctor"], "pattern": r"\bGD-\d{4}\b", "severity": "critical"}},
        },
    },
    "check structure": {
        "structure": {
            "schema": {"type": "object", "properties": {"opened": {"type": "integer"}}, "required": ["opened"]},
        },
    },
}


def is_known(value: str) -> bool:
    """Stands in for the user's sources."""
    return value == KNOWN_ID


def stand_in_for_settings(config: Any, flow: str) -> None:
    """Put the sources or the schema of the plants in the place of the user's; changes the loaded config."""
    own = SPECIAL_SETTINGS.get(flow)
    if own is not None:
        settings = dict(config.custom_data.get("evidencerails") or {})
        config.custom_data = {**config.custom_data, "evidencerails": {**settings, **own}}


def stand_in_for_documents(config: Any, plant: Plant) -> None:
    """Put the plant's source in the place of the knowledge base, if there is one; changes the loaded config."""
    from nemoguardrails.rails.llm.config import Document

    if config.docs:
        config.docs = [Document(format="md", content=f"# {plant.question}\n\n{plant.evidence}\n")]


def as_message(plant: Plant, place: str) -> list[dict[str, Any]]:
    """The message that carries the plant's source to a place of evidence; none for a place that is a variable."""
    if place == "tool_messages":
        return [{"role": "tool", "name": TOOL["name"], "tool_call_id": "1", "content": plant.evidence}]
    if place == "system_context":
        return [{"role": "system", "content": f"Answer from this.\n\nContext:\n{plant.evidence}"}]
    return []


class StandIn:
    """Plays the user's models over real HTTP, one planted turn after the other."""

    def __init__(self, server: ReplayServer) -> None:
        self.server = server
        self._lock = threading.Lock()
        server.default(self._reply)

    def plant(self, plant: Plant, *, writes_answer: bool, intent: str, bot: str) -> None:
        """Prepare one turn.

        Args:
            writes_answer: the model is asked for the answer itself first; else only for further samples.
            intent, bot: what the model says a dialog turn is about, and which bot message follows.
        """
        with self._lock:
            self._plant, self._intent, self._bot = plant, intent, bot
            first = (plant.answer,) if writes_answer else ()
            self._texts = itertools.chain(first, itertools.cycle(plant.others))

    def _reply(self, request: ReplayRequest) -> Any:
        text = request.prompt_text
        with self._lock:
            if f"{MARK} generate_user_intent" in text:
                return f"  {self._intent}"
            if f"{MARK} generate_next_steps" in text:
                return f"bot {self._bot}"
            if f"{MARK} generate_intent_steps_message" in text:
                return f'  {self._intent}\nbot {self._bot}\n  "{self._plant.answer}"'
            if self._is_judging(text):
                return "no" if self._plant.is_hallucination else "yes"
            return [next(self._texts) for _ in range(max(1, request.n))]

    def _is_judging(self, text: str) -> bool:
        """True for the question whether the answer agrees with the others; the source may hold the answer too."""
        without_source = text.replace(self._plant.evidence, "")
        return self._plant.others[0] in without_source and self._plant.answer in without_source


def stand_in_for_models(config: Any, base_url: str) -> None:
    """Put the stand-in in the place of every model of a loaded config, embeddings included; changes the config."""
    from nemoguardrails.rails.llm.config import Model, TaskPrompt

    endpoint = {"base_url": base_url, "api_key": "none"}
    kinds = list(dict.fromkeys(["main", *(model.type for model in config.models if model.type != "embeddings")]))
    config.models = [Model(type=kind, engine="openai", model=MODEL, parameters=dict(endpoint)) for kind in kinds]
    config.models.append(Model(type="embeddings", engine="evidencerails", model="embedded"))
    for section in (config.core, config.knowledge_base):
        if section.embedding_search_provider.name == "default":
            section.embedding_search_provider.parameters = {}
    # By likeness the planted question would lead to whichever flow is nearest to it, with another rail's flag.
    config.rails.dialog.user_messages.embeddings_only = False
    settings = dict(config.custom_data.get("evidencerails") or {})
    if "llm" in settings:
        kept = {key: value for key, value in settings["llm"].items() if key in ("budget", "max_retries")}
        settings["llm"] = {**kept, **endpoint, "model": MODEL}
        config.custom_data = {**config.custom_data, "evidencerails": settings}
    own = [prompt for prompt in config.prompts or [] if prompt.task not in DIALOG_TASKS]
    marked = [
        TaskPrompt(task=task, content=f"{MARK} {task}\n{{{{ history | colang }}}}", models=[f"openai/{MODEL}"])
        for task in DIALOG_TASKS
    ]
    config.prompts = [*own, *marked]
