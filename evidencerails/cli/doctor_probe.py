"""Plants a hallucination and a clean answer in a copy of the user's app, and sees what each rail makes of them."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evidencerails.cli import doctor_colang2
from evidencerails.cli.catalog import RAILS
from evidencerails.cli.doctor_form import FORM_PLANTS, STRUCTURE_FLOW, with_own_schema
from evidencerails.cli.doctor_modes import Mode, Turn, colang_2_mode, modes_of
from evidencerails.cli.doctor_rows import TURN_TIMEOUT_S, Row, Seen, effect_on, problem_with, started
from evidencerails.cli.doctor_source import Source, custom_callers, flows_in
from evidencerails.cli.doctor_standin import Plant, StandIn, stand_in_for_models
from evidencerails.cli.doctor_tools import KNOWLEDGE_FLOW, KNOWLEDGE_PLANTS, tool_rows, with_own_knowledge
from evidencerails.cli.installation import load_config
from evidencerails.cli.recording import recorded
from evidencerails.config import GuardConfig

NOT_COPIED = shutil.ignore_patterns(".git", "__pycache__", ".venv", "venv", "node_modules", ".evidencerails-init.json")


@contextmanager
def copied(folder: Path) -> Iterator[Path]:
    """A copy of the config folder that the probes may change."""
    place = Path(tempfile.mkdtemp(prefix="evidencerails-doctor-"))
    try:
        yield Path(shutil.copytree(folder, place / "config", ignore=NOT_COPIED, symlinks=False))
    finally:
        shutil.rmtree(place, ignore_errors=True)


class Prober:
    """Runs every rail of one config in every mode it has."""

    def __init__(self, source: Source, settings: GuardConfig, stand_in: StandIn | None, plants: tuple[Plant, Plant]):
        self.source = source
        self.settings = settings
        self.stand_in = stand_in
        self.plants = plants

    async def rows(self, config: Any) -> list[Row]:
        """One row for each flow and mode of a Colang 1.0 config; `config` is the copy that may be changed."""

        rows = []
        for flow in flows_to_probe(self.source):
            own = config.model_copy(deep=True)
            if flow.split("$")[0].strip() == KNOWLEDGE_FLOW:
                with_own_knowledge(own)
            if flow.split("$")[0].strip() == STRUCTURE_FLOW:
                with_own_schema(own)
            own.rails.output.flows = [flow]
            own.rails.input.flows = [flow for flow in own.rails.input.flows if flow in self.flag_setters]
            own.rails.retrieval.flows = []
            with started(own) as app:
                rows += [await self.row(app, flow, mode) for mode in modes_of(own, live=self.stand_in is None)]
        return [*rows, *await tool_rows(config, self.settings)]

    async def rows_of_colang_2(self, base_url: str) -> list[Row]:
        """One row for each flow of a Colang 2.x config, in the one mode that it has."""

        rows = []
        for flow in doctor_colang2.flows_to_probe(self.source):
            flags = flags_of(flow)
            plants = self._plants_of(flow)
            doctor_colang2.write_probe(self.source, flow, plants, flags)
            own = load_config(self.source.folder)
            if flow == STRUCTURE_FLOW:
                with_own_schema(own)
            if self.stand_in is not None:
                stand_in_for_models(own, base_url)
            with started(own) as app:
                planted, clean = [
                    await self._seen(app, colang_2_mode(number), plant, flags)
                    for number, plant in enumerate(plants, start=1)
                ]
            why = problem_with(planted, clean, self.settings)
            rows.append(Row(flow, _shown(flags, flow), "Colang 2.x", planted, clean, not why, why))
        return rows

    @property
    def flag_setters(self) -> set[str]:
        """Input flows of the app that set one of our flags, which a passthrough app has to do that way."""
        flags = "|".join(rail.flag for rail in RAILS.values())
        flows = (flow for text in self.source.colang.values() for flow in flows_in(text))
        return {name for name, body in flows if re.search(rf"\$({flags})\s*=\s*True", body)}

    async def row(self, app: Any, flow: str, mode: Mode) -> Row:
        """Plant both answers in one mode."""
        name = flow.split("$")[0].strip()
        flags = flags_of(name)
        cannot_flag = self.settings.activation == "per_response" and not app.config.rails.input.flows and name in RAILS
        if mode.name == "passthrough" and cannot_flag:
            seen = Seen("impossible", detail="no context message, so no flag, in passthrough: set `activation: always`")
            return Row(name, _shown(flags, name), mode.name, seen, seen, False, seen.detail)
        planted, clean = [await self._seen(app, mode, plant, flags) for plant in self._plants_of(name)]
        why = problem_with(planted, clean, self.settings)
        return Row(name, _shown(flags, name), mode.name, planted, clean, not why, why)

    def _plants_of(self, flow: str) -> tuple[Plant, Plant]:

        return KNOWLEDGE_PLANTS if flow == KNOWLEDGE_FLOW else FORM_PLANTS.get(flow, self.plants)

    async def _seen(self, app: Any, mode: Mode, plant: Plant, flags: list[str]) -> Seen:
        intent, bot, sets_flag = self._dialog_turn(flags)
        if self.stand_in is not None:
            self.stand_in.plant(plant, writes_answer=mode.writes_answer, intent=intent, bot=bot)
        context: dict[str, Any] = {self._evidence_variable: plant.evidence}
        if not (sets_flag and mode.name.startswith("dialog")):
            context |= dict.fromkeys(flags, True)
        with recorded(app) as reports:
            try:
                shown = await asyncio.wait_for(mode.run(app, Turn(plant, context)), TURN_TIMEOUT_S)
            except Exception as error:  # boundary to NeMo and to the user's own actions
                return Seen("failed", tuple(reports), f"{type(error).__name__}: {error}")
        return Seen(effect_on(plant.answer, shown), tuple(reports))

    @property
    def _evidence_variable(self) -> str:
        places = self.settings.evidence.places
        return self.settings.evidence.variable if "variable" in places else "relevant_chunks"

    def _dialog_turn(self, flags: list[str]) -> tuple[str, str, bool]:
        """User intent and bot message of the dialog flow that sets one of the flags, and whether there is one."""
        for text in self.source.colang.values():
            for block in re.split(r"^(?=define )", text, flags=re.MULTILINE):
                if block.startswith("define flow") and re.search(rf"\$({'|'.join(flags)})\s*=\s*True", block):
                    user = re.search(r"^\s+user (.+)$", block, re.MULTILINE)
                    bot = re.search(r"^\s+bot (.+)$", block, re.MULTILINE)
                    if user:
                        return user.group(1).strip(), bot.group(1).strip() if bot else "provide response", True
        return "ask something", "provide response", False


def flags_of(name: str) -> list[str]:
    """The flag of one of our rails; all flags for a flow of the user's, which may ask for any."""
    return [RAILS[name].flag] if name in RAILS else [rail.flag for rail in RAILS.values()]


def _shown(flags: list[str], name: str) -> str:
    return f"${flags[0]}" if name in RAILS else "(its own)"


def flows_to_probe(source: Source) -> list[str]:
    """The output flows that are ours or call our actions, as the config writes them."""
    own = set(custom_callers(source))
    return [flow for flow in source.config.rails.output.flows if flow.split("$")[0].strip() in RAILS or flow in own]
