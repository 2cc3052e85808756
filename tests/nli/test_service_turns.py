"""Many short pieces of work in a row leave the event loop its turns."""

import asyncio
import time

from scripted_nli import ScriptedNli

from evidencerails.nli.service import NliService

PIECE_S = 0.004
"""Shorter than the 5 ms after which Python takes the interpreter lock from a thread."""
PIECES = 60


def work() -> None:
    """Hold the interpreter lock, as taking texts apart does."""
    ends = time.thread_time() + PIECE_S
    while time.thread_time() < ends:
        pass


async def test_the_loop_runs_between_most_pieces_of_work() -> None:
    turns = 0
    seen: list[int] = []

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.0005)

    def piece() -> None:
        seen.append(turns)
        work()

    service = NliService(ScriptedNli(lambda *_: None))  # never asked
    ticking = asyncio.create_task(tick())
    try:
        await asyncio.gather(*(service.run(piece) for _ in range(PIECES)))
    finally:
        ticking.cancel()
        service.close()
    # Without the pause before a piece 20 to 30 of the 60 saw a turn of the loop since the one before.
    assert len(set(seen)) > 0.75 * PIECES
