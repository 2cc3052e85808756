"""The kind of error, by rules: a table of near misses, and the cases that were written before the rules."""

import json
from pathlib import Path

import pytest

from evidencerails.checks.error_types import error_types

CASES = {
    # claim, evidence -> types
    "number in digits": ("The bridge is 412 metres long.", "The bridge is 503 metres long.", ("number",)),
    "number in words": ("Sixteen sailors were rescued.", "Six sailors were rescued.", ("number",)),
    "million is no billion": ("It paid $3.2 billion.", "It paid $3.2 million.", ("number",)),
    "feet are no metres": ("It rises to 330 feet.", "It rises to 330 metres.", ("number",)),
    "percent is no count": ("It grew by 50 percent.", "It grew by 50 people.", ("number",)),
    "the same number in words": ("It has three doors and is red.", "It has 3 doors and is blue.", ("other",)),
    "rounding said to be so": ("About 15,000 people of Rome came.", "15,213 people came to Oslo.", ("entity",)),
    "year": ("The treaty was signed in 1848.", "The treaty was signed in 1884.", ("temporal",)),
    "decade holds the year": ("It closed in the 1980s in Rome.", "It closed in 1986 in Bern.", ("entity",)),
    "day of a date": ("He was born on 12 March 1950.", "He was born on March 21, 1950.", ("temporal",)),
    "dates in two notations": ("It ends on 2024-06-30 in Rome.", "It ends on 30 June 2024 in Bern.", ("entity",)),
    "planned stated as done": (
        "The vaccine is already in use across the country.", "The vaccine will be used across the country.",
        ("temporal",)),
    "before and after": ("It was done before the vote.", "It was done after the vote.", ("temporal",)),
    "place": ("The museum is in Lyon.", "The museum is in Marseille.", ("entity",)),
    "first name": ("Michael Brown was elected.", "James Brown was elected.", ("entity",)),
    "who beat whom": ("Kenya beat Ghana.", "Ghana beat Kenya.", ("entity",)),
    "name from another place of the evidence": (
        "The museum is in Lyon.", "Lyon lies on the Rhone. The museum is in Marseille.",
        ("entity",)),
    "all for some": ("All patients recovered.", "Some patients recovered.", ("overgeneralization",)),
    "all in both": ("All patients died.", "All patients recovered.", ("other",)),
    "strong words": ("Sales exploded this spring.", "Sales rose slightly this spring.", ("hyperbole",)),
    "another speaker": (
        "The minister said the tax would go.", "Opposition leader Jane Hall said the tax would go.",
        ("attribution_failure",)),
    "suspicion stated as finding": (
        "Police confirmed that it was arson.", "Police suspect that it was arson.",
        ("attribution_failure",)),
    "several": ("Marta Ruiz won 4 medals in 2016.", "Marta Ruiz won 2 medals in 2012.", ("number", "temporal")),
    "opposite": ("The suspect was acquitted.", "The suspect was convicted.", ("other",)),
    "empty evidence": ("The suspect was acquitted.", "", ("other",)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_types_that_a_comparison_shows(name: str) -> None:
    claim, evidence, expected = CASES[name]
    assert error_types(claim, evidence, "contradicted") == expected


@pytest.mark.parametrize("label", ["supported", "unevaluatable"])
def test_a_claim_without_an_error_has_no_type(label: str) -> None:
    assert error_types("It is 3 m long.", "It is 4 m long.", label) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(("file", "least"), [("error_type_cases.jsonl", 45), ("error_type_cases_2.jsonl", 43)])
def test_nine_of_ten_cases_written_by_hand(repository: Path, file: str, least: int) -> None:
    # The first were written before the rules, the others by another author; see benchmarks/error_types.py.
    rows = [json.loads(line) for line in (repository / "benchmarks" / file).read_text(encoding="utf-8").splitlines()]
    right = [set(error_types(r["claim"], r["evidence"], r["label"])) == set(r["expected"]) for r in rows]
    assert len(rows) == 50
    assert sum(right) >= least
