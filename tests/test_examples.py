"""Each example is run as a reader runs it, and prints what is written here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parent.parent
PRONE = (
    "The previous answer is prone to hallucination and may not be accurate. "
    "Please double check the answer using additional sources."
)

OUTPUT = {
    "regenerate_with_diff.py": """\
repaired after 1 round(s), decision: regenerate
--- response
+++ repaired
@@ -1,3 +1,3 @@
 The Halden bridge was designed by Ove Lund.
-It opened in 1911.
-The Halden bridge is 950 metres long.
+It opened in 1932.
+The Halden bridge is 412 metres long.
answer: The Halden bridge was designed by Ove Lund. It opened in 1932. The Halden bridge is 412 metres long.

refused after 2 round(s), decision: block
new_value: the correction has a number or name that nothing given has; its own words: 1899
answer: None

""",
    "human_review.py": """\
reviewer sees:  Adults take at most 14 tablets a day.
                contradicted: Adults take at most 14 tablets a day.
                instead: Adults take at most 4 tablets a day.
decision:       allow, review edited by Dr. Ruiz
user reads:     Adults take at most 4 tablets a day.
""",
    "agent_with_database.py": """\
close_account({'customer_id': 'C-1001', 'notify': True})
  goes out
close_account({'customer_id': 'C-1010'})
  held back: I have not done that: the call I was about to make did not pass its checks.
  unknown_value: /0/arguments/customer_id: 'customer_id' 'C-1010' does not exist: no record in 'customers'
close_account({'customer_id': 'C-1001', 'notify': 'yes'})
  held back: I have not done that: the call I was about to make did not pass its checks.
  invalid_arguments: /0/arguments/notify: 'yes' is not of type 'boolean'
close_all_accounts({})
  held back: I have not done that: the call I was about to make did not pass its checks.
  unknown_tool: /0/name: there is no tool 'close_all_accounts'
""",
    "entity_extractors.py": """\
drugs ['zolmitrexan']
statutes ['Section 12 of the Data Protection Act 2018']
tickers ['AAPL', 'BRK.B']
""",
    "add_to_app.py": "without the rail: It opened in 1875.\nwith the rail:    I don't know the answer to that.\n",
    "rag_chat.py": f"""\
user: How long is the Halden bridge?
bot:  The Halden bridge is 412 metres long.

user: When did it open?
bot:  I don't know the answer to that.

user: What does the museum cost?
bot:  Tickets for the museum cost 6 euros. Children under 12 enter for free.

{PRONE}

""",
    "custom_flow.py": """\
bot: The Halden bridge is 412 metres long.
     grounded: supported
bot: I would have told you something my sources do not say. Let me look it up again.
     hallucinated: contradicted
""",
    "cited_rag.py": """\
user: How long is the Halden bridge?
bot:  The Halden bridge is 412 metres long [1].
      attribution precision 100%

user: What does the museum cost?
bot:  I don't know the answer to that.
      nonexistent_source: '(Lindqvist, 2021)': 'Lindqvist, 2021' is none of the 3 sources
      attribution precision 0%

user: When was it closed?
bot:  The bridge was closed for repairs from 1998 to 2001 [1]. [?1]

[?1] citation violation
      non_entailing: 'The bridge was closed for repairs from 1998 to 2001 [1].': cited passage 1: does not say so
      attribution precision 0%

""",
    "structured_answer.py": """\
user reads: {"order": "AB-1234", "status": "shipped", "total": 41.5}
user reads: I don't know the answer to that.
            not_allowed at /status: "lost" is not one of ["open", "shipped", "cancelled"]
            out_of_range at /total: -3 is below the minimum 0
user reads: I don't know the answer to that.
            invalid_json the JSON that begins at character 0 ends before it is complete
the model was asked for: json_schema
""",
    "sums_and_dates.py": """\
hallucinated: Twelve seats at 7 euros each: 12 * 7 = 85 euros.
  arithmetic: computed: 84, not 85
grounded: The price fell from 200 to 150 euros, a drop of 25%.
hallucinated: The price fell from 200 to 150 euros, a drop of 30%.
  percentage: computed: 25, not 30
grounded: 4 July 2026 is a Saturday, 40 days before 13 August 2026.
hallucinated: 4 July 2026 is a Sunday.
  weekday: computed: 4 July 2026 is a Saturday
hallucinated: Anna is taller than Ben. Ben is taller than Cleo. Cleo is taller than Anna.
  ordering: against what the answer says before (anna above ben, ben above cleo), on one scale: height
""",
    "wikidata_source.py": """\
grounded: Lions (*Panthera leo*) live in prides.
  Panthera leo: verified, found in 'wikidata'
hallucinated: The ghost cat of the Pamirs (*Panthera nivalis*) was first described in 1903.
  Panthera nivalis: refuted, no record in 'wikidata'
unverified: House cats (*Felis catus*) sleep for 12 hours a day.
  Felis catus: unverifiable, wikidata: bad_status: 429
""",
    "langchain_chain.py": """\
How long is it?    The Halden bridge is 412 metres long.
When did it open?  I don't know the answer to that.
streamed:          The |Halden |bridge |is |412 |metres |long.
report:            hallucinated contradicted halden.md
raised:            the response is hallucinated (grounding, claims): block by default; see `report`
""",
}


SUPPORT_BOT = REPOSITORY / "examples" / "support_bot"


def test_every_example_is_run_here() -> None:
    found = {file.relative_to(REPOSITORY / "examples").as_posix() for file in (REPOSITORY / "examples").rglob("*.py")}
    assert found == {*OUTPUT, "support_bot/run.py"}


@pytest.mark.parametrize("name", OUTPUT)
@pytest.mark.parametrize("place", ["empty", "repository"])
def test_an_example_prints_what_it_should(name: str, place: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [sys.executable, REPOSITORY / "examples" / name],
        cwd=REPOSITORY if place == "repository" else empty,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "DO_NOT_TRACK": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == OUTPUT[name]
    assert place == "repository" or list(empty.iterdir()) == [], "an example leaves nothing behind"


def test_the_support_bot_is_of_real_size() -> None:
    articles = {file.stem: file.read_text(encoding="utf-8") for file in (SUPPORT_BOT / "config" / "kb").glob("*.md")}
    assert len(articles) == 40
    assert [name for name, text in articles.items() if not 150 <= len(text.split()) <= 500] == []
    rows = yaml.safe_load((SUPPORT_BOT / "questions.yml").read_text(encoding="utf-8"))
    assert len({row["question"] for row in rows}) == 30 and {row["article"] for row in rows} <= articles.keys()


@pytest.mark.timeout(1200)
def test_the_support_bot_does_what_its_page_shows(tmp_path: Path) -> None:
    """The page shows one run. Scores differ in the third digit between processors: single figures may differ, and an
    answer or two may change its column."""
    done = subprocess.run(
        [sys.executable, SUPPORT_BOT / "run.py", tmp_path / "out"],
        capture_output=True,
        text=True,
        timeout=1200,
        env={**os.environ, "DO_NOT_TRACK": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    shown = (SUPPORT_BOT / "README.md").read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    assert _frame(done.stdout) == _frame(shown)
    now, then = _tables(done.stdout), _tables(shown)
    assert len(now) == len(then) == 4 and all(sum(row) == 30 for row in now)
    assert all(abs(a - b) <= 2 for row, other in zip(now, then, strict=True) for a, b in zip(row, other, strict=True))
    assert list(Path.cwd().iterdir()) == [], "nothing is left beside what was asked for"
    assert {"blocked.html", "bot.db", "calibration.yml", "day.jsonl", "monitoring.html"} <= {
        file.name for file in (tmp_path / "out").iterdir()
    }
    assert "<mark" in (tmp_path / "out" / "blocked.html").read_text(encoding="utf-8")


def _frame(output: str) -> list[str]:
    """The headlines and the commands of a run."""
    return [re.sub(r"[\d.]+", "#", line) for line in output.splitlines() if line.startswith(("==", "$"))]


def _tables(output: str) -> list[list[int]]:
    """Delivered, flagged, blocked, of the right and of the wrong answers."""
    return [[int(n) for n in row] for row in re.findall(r"^\w+ answers +(\d+) +(\d+) +(\d+)$", output, re.MULTILINE)]
