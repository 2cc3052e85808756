"""Prompts as every provider accepts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evidencerails.exchange import Message


def portable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without what a provider would refuse in a prompt that is asked again.

    A tool's result needs the call it answers, which `Message` does not keep: it is sent as the user's instead. Empty
    messages (a mere tool call) are left out, and neighbours of one role are kept apart.
    """
    return tuple(_portable(messages))


def _portable(messages: Sequence[Message]) -> Iterator[Message]:
    for message in messages:
        if not message.content.strip():
            continue
        if message.role == "tool":
            yield Message(role="user", content=f"Result of a tool call:\n{message.content}")
        else:
            yield message
