"""`evidencerails review` and `evidencerails store` as people use them."""

import json
from pathlib import Path

import pytest
from commands import Run

from evidencerails import Exchange, Report
from evidencerails.exchange import Span
from evidencerails.operations.review.package import package_of
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store
from evidencerails.report import Claim
from evidencerails.settings.operations import StoreSettings

ANSWER = "Paris is in Italy. \x1b[31m[bold]"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def review_id(url: str) -> str:
    """An answer that waits in the queue."""
    claim = Claim(
        text="Paris is in Italy.", span=Span.of(ANSWER, 0, 18), label="contradicted", reason="it is in France"
    )
    given = Report(status="hallucinated", hallucination_score=0.9, claims=(claim,))
    exchange = Exchange.of(ANSWER, evidence="Paris is the capital of France.", prompt="Where?")
    with Store(StoreSettings(url=url)) as store:
        store.put(given, exchange)
        queue = ReviewQueue(store)
        package = package_of(given, exchange)
        return queue.submit(package, tier="synchronous", risk=0.54, stakes="medium", within_s=600).id


def test_list_show_and_approve(evidencerails: Run, url: str, review_id: str) -> None:
    listed = evidencerails("review", "list", "--store", url)
    assert listed.code == 0 and review_id[:12] in listed.out and "synchronous" in listed.out
    shown = evidencerails("review", "show", review_id[:6], "--store", url)
    assert "contradicted: Paris is in Italy." in shown.out and "Paris is the capital of France." in shown.out
    assert "\x1b" not in shown.out and "\\x1b[31m[bold]" in shown.out
    done = evidencerails("review", "approve", review_id[:6], "--reviewer", "ann", "--note", "ok", "--store", url)
    assert (done.code, done.out) == (0, f"{review_id} approved by ann\n")
    assert evidencerails("review", "list", "--store", url).out == "no reviews\n"
    data = json.loads(evidencerails("review", "list", "--state", "unreleased", "--json", "--store", url).out)
    assert [(item["id"], item["state"]) for item in data] == [(review_id, "approved")]


def test_release_prints_what_was_let_through(evidencerails: Run, url: str, review_id: str) -> None:
    early = evidencerails("review", "release", review_id, "--store", url)
    assert (early.code, early.out) == (1, "") and "is pending" in early.err
    text = "Paris is in France."
    evidencerails("review", "edit", review_id, "--text", text, "--reviewer", "ann", "--store", url)
    done = evidencerails("review", "release", review_id[:6], "--store", url)
    assert (done.code, done.out) == (0, f"{text}\n")
    again = json.loads(evidencerails("review", "release", review_id, "--json", "--store", url).out)
    assert (again["text"], again["verdict"], again["reviewer"], again["is_first"]) == (text, "edited", "ann", False)
    assert evidencerails("review", "list", "--state", "unreleased", "--store", url).out == "no reviews\n"
    assert evidencerails("review", "release", "ffffff", "--store", url).code == 2


def test_the_second_reviewer_gets_another_exit_code(evidencerails: Run, url: str, review_id: str) -> None:
    assert evidencerails("review", "reject", review_id, "--reviewer", "ann", "--store", url).code == 0
    second = evidencerails("review", "approve", review_id, "--reviewer", "bob", "--store", url)
    assert second.code == 1 and "already rejected by ann; nothing was changed" in second.err


def test_edit_by_file(evidencerails: Run, url: str, review_id: str, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("Paris is in France.")
    done = evidencerails(
        "review", "edit", review_id, "--file", tmp_path / "new.txt", "--reviewer", "ann", "--store", url
    )
    assert done.code == 0, done.err
    shown = json.loads(evidencerails("review", "show", review_id, "--json", "--store", url).out)
    assert (shown["state"], shown["edited"]) == ("edited", "Paris is in France.")
    assert shown["package"]["output"] == ANSWER


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "nothing"), "there is no review 'nothing'"),
        (("edit", "x", "--text", "a", "--file", "b"), "give the new text once"),
        (("edit", "x"), "give the new text once"),
    ],
)
def test_wrong_usage_is_one_line(
    evidencerails: Run, url: str, review_id: str, arguments: tuple[str, ...], message: str
) -> None:
    done = evidencerails("review", *arguments, "--store", url)
    assert done.code == 2 and message in done.err and len(done.err.splitlines()) == 1


def test_a_store_that_is_not_there_is_not_made(evidencerails: Run, tmp_path: Path) -> None:
    done = evidencerails("review", "list", "--store", f"sqlite:///{tmp_path}/none.db")
    assert done.code == 2 and "there is no store" in done.err and not (tmp_path / "none.db").exists()


def test_store_init_status_export_and_purge(evidencerails: Run, url: str, review_id: str, tmp_path: Path) -> None:
    assert evidencerails("store", "init", "--store", url).code == 0
    status = json.loads(evidencerails("store", "status", "--json", "--store", url).out)
    assert status == {"reports": 1, "by_status": {"hallucinated": 1}}
    exported = evidencerails("store", "export", "--store", url)
    (row,) = [json.loads(line) for line in exported.out.splitlines()]
    assert row["response"] == ANSWER and "\x1b" not in exported.out
    assert evidencerails("store", "export", tmp_path / "out.csv", "--format", "csv", "--store", url).code == 0
    assert (tmp_path / "out.csv").read_text().startswith("seq,id,created_at,status")
    lost = evidencerails("store", "export", url.removeprefix("sqlite:///"), "--store", url)
    assert lost.code == 2 and "this command also reads that file" in lost.err
    assert evidencerails("store", "purge", "--store", url).out.startswith("0 reports and 0 reviews deleted")


def test_settings_name_the_store(evidencerails: Run, url: str, review_id: str, tmp_path: Path) -> None:
    (tmp_path / "settings.yml").write_text(f"store: {{url: '{url}'}}\n")
    assert review_id[:12] in evidencerails("review", "list", "--config", tmp_path / "settings.yml").out
