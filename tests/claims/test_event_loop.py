"""The work of the check `claims` is done in threads: the event loop only hands it on."""

import asyncio
import time

import pytest
from made import Make

EVIDENCE = " ".join(f"The basin number {n} of the harbour was opened in {1900 + n} by the mayor." for n in range(15))
ANSWER = " ".join(f"The basin number {n}, built of stone, was opened in {1900 + n} and is deep." for n in range(4))


@pytest.mark.slow
async def test_eight_checks_at_once_take_little_of_the_loops_own_time(guard: Make) -> None:
    checking = guard(checks=("grounding", "claims"))
    await checking.check(ANSWER, evidence=EVIDENCE)  # loads what is loaded once
    on_loop, everywhere = time.thread_time(), time.process_time()  # of processors: a busy machine changes neither
    await asyncio.gather(*(checking.check(f"{ANSWER} Answer {n}.", evidence=EVIDENCE) for n in range(8)))
    on_loop, everywhere = time.thread_time() - on_loop, time.process_time() - everywhere
    assert on_loop < 0.1 * everywhere, f"{on_loop:.2f} of {everywhere:.2f} s"
