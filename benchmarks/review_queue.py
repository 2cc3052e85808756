"""The review queue under 50 writers at once: items per second, and how many of them are lost.

    python benchmarks/review_queue.py [--items 20] [--postgresql URL]

Ten processes of five threads each submit items to one database; five further threads decide them meanwhile, all of them
at the same items, and go on until nothing waits. Afterwards every item must be there once, with one decision, and every
approved one must give its own text. `decided meanwhile`: before the last writer was done.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tables import publish

from evidencerails.errors import ReviewConflictError
from evidencerails.operations.review.package import Package
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store
from evidencerails.settings.operations import StoreSettings

PROCESSES, THREADS, REVIEWERS = 10, 5, 5


def settings(url: str) -> StoreSettings:
    """Settings that wait for other writers as long as it takes."""
    return StoreSettings(url=url, lock_timeout_s=120)


def write(url: str, process: int, items: int, ready: Any, results: Any) -> None:
    """One process of writers; its times in ms go to `results`."""
    with Store(settings(url)) as store:
        queue = ReviewQueue(store)
        _ = queue.items(limit=1)
        ready.wait()

        def work(thread: int) -> list[float]:
            times = []
            for number in range(items):
                output = f"answer {process}-{thread}-{number}"
                started = time.perf_counter()
                package = Package(output=output, status="hallucinated", reason="")
                queue.submit(package, tier="synchronous", risk=0.5, stakes="medium", within_s=600)
                times.append((time.perf_counter() - started) * 1000)
            return times

        with ThreadPoolExecutor(THREADS) as pool:
            results.put([t for times in pool.map(work, range(THREADS)) for t in times])


def review(queue: ReviewQueue, stop: threading.Event, conflicts: list[str]) -> None:
    """Decide whatever waits, as others do at the same time."""
    while (waiting := queue.items(limit=10)) or not stop.is_set():
        for item in waiting:
            try:
                queue.decide(item.id, "approved", reviewer=threading.current_thread().name, version=item.version)
            except ReviewConflictError:
                conflicts.append(item.id)
        stop.wait(0.05)


def measure(url: str, items: int) -> dict[str, Any]:
    """Figures of one database."""
    context = multiprocessing.get_context("spawn")
    ready, results = context.Barrier(PROCESSES + 1), context.Queue()
    with Store(settings(url)) as store:
        queue = ReviewQueue(store)
        _ = store.engine
        writers = [context.Process(target=write, args=(url, p, items, ready, results)) for p in range(PROCESSES)]
        for writer in writers:
            writer.start()
        ready.wait()
        started = time.perf_counter()
        stop, conflicts = threading.Event(), []  # type: ignore[var-annotated]
        people = [threading.Thread(target=review, args=(queue, stop, conflicts)) for _ in range(REVIEWERS)]
        for person in people:
            person.start()
        times = [t for _ in writers for t in results.get()]
        elapsed_s = time.perf_counter() - started
        meanwhile = len(times) - _waiting(queue)
        for writer in writers:
            writer.join()
        stop.set()
        for person in people:
            person.join()
        decided_s = time.perf_counter() - started
        audit = _audit(queue, items)
        return {
            **audit,
            "decided_meanwhile": meanwhile,
            **_figures(times, elapsed_s),
            "decisions_per_s": round(audit["decided"] / decided_s, 1),
            "conflicts": len(conflicts),
        }


def _waiting(queue: ReviewQueue) -> int:
    """Items that nobody has decided; 1,000 at most."""
    return len(queue.items(limit=1000))


def _audit(queue: ReviewQueue, items: int) -> dict[str, Any]:
    expected = {f"answer {p}-{t}-{n}" for p in range(PROCESSES) for t in range(THREADS) for n in range(items)}
    found: list[str] = []
    twice = wrong = approved = 0
    offset = 0
    while page := queue.items(state=None, limit=1000, offset=offset):
        offset += len(page)
        for item in page:
            opened = queue.get(item.id)
            assert opened.package is not None
            found.append(opened.package.output)
            decisions = [event for event in opened.events if event.event == "approved"]
            twice += len(decisions) > 1
            if item.state == "approved":
                approved += 1
                wrong += queue.release(item.id).text != opened.package.output
    return {
        "written": len(expected),
        "lost": len(expected - set(found)),
        "doubled": len(found) - len(set(found)),
        "decided": approved,
        "decided_twice": twice,
        "released_wrong": wrong,
    }


def _figures(times: list[float], elapsed_s: float) -> dict[str, Any]:
    return {
        "items_per_s": round(len(times) / elapsed_s, 1),
        "median_ms": round(statistics.median(times), 1),
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
    }


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20, help="items of each of the 50 writers")
    parser.add_argument("--postgresql", metavar="URL", help="measure an empty PostgreSQL database, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = {"SQLite": measure(f"sqlite:///{folder}/queue.db", arguments.items)}
        if arguments.postgresql:
            figures["PostgreSQL"] = measure(arguments.postgresql, arguments.items)
    names = list(next(iter(figures.values())))
    rows = [["database", *(name.replace("_", " ") for name in names)]]
    rows += [[database, *(str(values[name]) for name in names)] for database, values in figures.items()]
    publish("queue", rows, {"queue": figures, "writers": PROCESSES * THREADS})


if __name__ == "__main__":
    main()
