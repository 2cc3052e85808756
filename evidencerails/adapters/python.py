"""`evidencerails.Guard`: the engine, and the LangChain step that it can become. In: what `guard.Guard` takes. Out: its
reports. Next: `guard.py`, `langchain_guard.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evidencerails import guard

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable


class Guard(guard.Guard):
    __doc__ = guard.Guard.__doc__

    def as_runnable(self, **options: Any) -> Runnable[Any, Any]:
        """This guard as a step of a LangChain chain, `chain | guard.as_runnable()`; options as of `GuardRunnable`."""
        from evidencerails.adapters.langchain_guard import GuardRunnable  # needs LangChain

        return GuardRunnable(self, **options)
