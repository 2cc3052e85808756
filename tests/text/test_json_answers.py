"""JSON answers: a claim for each field with a value, bare or in a fence."""

import pytest

from evidencerails.text.claimable import claim_sentences
from evidencerails.text.claims import extract_claims
from evidencerails.text.json_answers import fields_of

FIELDS = [
    ('{"name": "Halden Bridge", "opened": 1932}', ["name: Halden Bridge", "Halden Bridge opened: 1932"]),
    ('{"opened": 1932, "architect": null, "note": ""}', ["opened: 1932"]), ('{"architect": null}', []), ("{}", []),
    ('{"length_m": 412, "isOpen": true}', ["length: 412 m", "is open: true"]),
    ('{"title": "Emma", "authors": ["Austen", "Holm"]}', ["title: Emma", "Emma authors: Austen", "Emma authors: Holm"]),
    ('{"name": "Oslo", "mayor": {"since": 2023}}', ["name: Oslo", "Oslo mayor since: 2023"]),
    ('[{"name": "A1", "year": 1}, {"name": "B2", "year": 2}]', ["name: A1", "A1 year: 1", "name: B2", "B2 year: 2"]),
    ('["Oslo", "Lyon"]', []), ("{broken", []), ('"text"', []), ('{"a": ' * 60 + "1" + "}" * 60, []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FIELDS)
def test_fields_with_a_value(text: str, expected: list[str]) -> None:
    assert [field.text for field in fields_of(text)] == expected


@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "Here it is:\n\n```\n{}\n```\nHope this helps!", "  {}\n"])
def test_each_field_is_a_claim_with_its_verbatim_words(form: str) -> None:
    response = form.replace("{}", '{\n  "name": "Halden Bridge",\n  "architect": null,\n  "opened": 1932\n}')
    claims = extract_claims(response)
    assert [claim.text for claim in claims] == ["name: Halden Bridge", "Halden Bridge opened: 1932"]
    assert [claim.span.text for claim in claims] == ['"name": "Halden Bridge"', '"opened": 1932']
    assert all(response[c.span.start : c.span.end] == c.span.text for c in claims)


def test_words_around_a_fence_are_claims_too() -> None:
    claims = extract_claims('The bridge opened in 1932.\n\n```json\n{"length_m": 412}\n```\n\nIt crosses the Tista.')
    assert [claim.text for claim in claims] == ["The bridge opened in 1932.", "length: 412 m", "It crosses the Tista."]


def test_an_object_of_nothing_but_null_claims_nothing() -> None:
    assert claim_sentences('{"architect": null, "year": null}') == []


def test_a_fence_of_code_stays_code() -> None:
    assert claim_sentences("```python\n{x: 1 for x in range(3)}\n```") == []


def test_very_many_fields_are_read_some_at_a_time() -> None:
    text = '{"rows": [' + ",".join(f'{{"n": {n}}}' for n in range(3_000)) + "]}"
    fields = fields_of(text)
    assert len(fields) == 200
    assert fields[0].text.startswith("rows n: 0; rows n: 1; ") and fields[-1].text.endswith("n: 2999")
