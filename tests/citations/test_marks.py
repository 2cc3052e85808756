"""Which brackets, names and addresses of an answer are citations, and what they name."""

import time

import pytest

from evidencerails.checks.citations.marks import find_marks, hidden_text
from evidencerails.checks.citations.sources import Sources, one_address, one_spelling
from evidencerails.exchange import as_passages

SOURCES = Sources(
    as_passages(
        [
            "The Halden bridge opened in 1932. See Berg and Lund (2004) for its history.",
            {"id": "doc-2", "text": "Tickets cost 6 euros.", "source": "docs/tickets.md"},
            {
                "id": "returns",
                "text": "Items can be returned within 30 days.",
                "source": "https://www.shop.example/help/returns",
                "metadata": {"title": "Returns and refunds", "authors": ["A. Ortiz", "B. Lee"], "year": 2019},
            },
            {"id": "kb", "text": "doi 10.1000/halden.42 and https://kb.example/a?id=7 are its addresses."},
        ]
    )
)


def read(text: str) -> list[tuple[str, tuple[int, ...], bool]]:
    """Words of each citation, the places of its sources counted from 1, and whether all of it exists."""
    found = []
    for mark in find_marks(text, SOURCES.knows):
        if mark.refs:
            places = sorted({place + 1 for ref in mark.refs for place in SOURCES.places(ref)})
            found.append((text[mark.start : mark.end], tuple(places), all(map(SOURCES.is_complete, mark.refs))))
    return found


CITATIONS = [
    ("It opened in 1932 [1].", [("[1]", (1,), True)]),
    ("It opened in 1932[1].", [("[1]", (1,), True)]),
    ("It opened [1][2].", [("[1]", (1,), True), ("[2]", (2,), True)]),
    ("It opened [1, 3].", [("[1, 3]", (1, 3), True)]),
    ("It opened [1,2; 4].", [("[1,2; 4]", (1, 2, 4), True)]),
    ("It opened [1-3].", [("[1-3]", (1, 2, 3), True)]),
    ("It opened [2–4].", [("[2–4]", (2, 3, 4), True)]),
    ("It opened [5].", [("[5]", (), False)]),
    ("It opened [0].", [("[0]", (), False)]),
    ("It opened [3-9].", [("[3-9]", (3, 4), False)]),
    ("It opened [1-1000000].", [("[1-1000000]", (1, 2, 3, 4), False)]),
    ("It opened [999999999].", [("[999999999]", (), False)]),
    ("It opened ([1, 2]), or [3] and [1].", [("[1, 2]", (1, 2), True), ("[3]", (3,), True), ("[1]", (1,), True)]),
    ("It opened [1, p. 12].", [("[1, p. 12]", (1,), True)]),
    ("It opened [^1].", [("[^1]", (1,), True)]),
    ("It opened [[1]].", [("[[1]]", (1,), True)]),
    ("It opened 【1†source】.", [("【1†source】", (1,), True)]),
    ("It opened [Source 1].", [("[Source 1]", (1,), True)]),
    ("It costs 6 euros [doc-2].", [("[doc-2]", (2,), True)]),
    ("It costs 6 euros [Doc 2].", [("[Doc 2]", (2,), True)]),
    ("It costs 6 euros [doc-7].", [("[doc-7]", (), False)]),
    ("It costs 6 euros [tickets.md].", [("[tickets.md]", (2,), True)]),
    ("It costs 6 euros [prices.md].", [("[prices.md]", (), False)]),
    ("Within 30 days [returns].", [("[returns]", (3,), True)]),
    ("Within 30 days [returns#2].", [("[returns#2]", (3,), True)]),
    ("Within 30 days (Source: Returns and Refunds).", [("(Source: Returns and Refunds)", (3,), True)]),
    ("Within 30 days (source: Harbour Gazette).", [("(source: Harbour Gazette)", (), False)]),
    ("Within 30 days (Ortiz, 2019).", [("(Ortiz, 2019)", (3,), True)]),
    ("Within 30 days (Ortiz & Lee, 2019).", [("(Ortiz & Lee, 2019)", (3,), True)]),
    ("Within 30 days (Ortiz et al., 2019, p. 3).", [("(Ortiz et al., 2019, p. 3)", (3,), True)]),
    ("Within 30 days (Ortiz, 2018).", [("(Ortiz, 2018)", (), False)]),
    ("It is old (Berg & Lund, 2004).", [("(Berg & Lund, 2004)", (1,), True)]),
    ("It is old (Berg, 2004; Novak, 2011).", [("(Berg, 2004; Novak, 2011)", (1,), False)]),
    ("Ortiz (2019) found that it is 30 days.", [("Ortiz (2019)", (3,), True)]),
    ("Novak et al. (2011) report that it is 30 days.", [("Novak et al. (2011)", (), False)]),
    ("See https://shop.example/help/returns/.", [("https://shop.example/help/returns/", (3,), True)]),
    ("See http://kb.example/a?id=7&utm_source=x.", [("http://kb.example/a?id=7&utm_source=x", (4,), True)]),
    ("See https://shop.example/help/refunds.", [("https://shop.example/help/refunds", (), False)]),
    ("[help](https://shop.example/help/returns#top)", [("[help](https://shop.example/help/returns#top)", (3,), True)]),
    ("See [help](https://other.example/x_(y)).", [("[help](https://other.example/x_(y))", (), False)]),
    ("It is old (doi:10.1000/halden.42).", [("(doi:10.1000/halden.42)", (4,), True)]),
    ("It is old, https://doi.org/10.1000/HALDEN.42.", [("https://doi.org/10.1000/HALDEN.42", (4,), True)]),
    ("It is old, doi 10.1000/other.7.", [("doi 10.1000/other.7", (), False)]),
    ("It opened in 1932.¹ It is long.²", [("¹", (1,), True), ("²", (2,), True)]),
    ("It opened¹² early.", [("¹²", (), False)]),
    ("It opened [1†L3-L9].", [("[1†L3-L9]", (1,), True)]),
    ("It costs 6 euros (doc-2).", [("(doc-2)", (2,), True)]),
    ("It costs 6 euros (doc-8).", [("(doc-8)", (), False)]),
    ("| Halden | 1932 | [1] |", [("[1]", (1,), True)]),
]


@pytest.mark.parametrize(("text", "expected"), CITATIONS, ids=[text for text, _ in CITATIONS])
def test_what_a_citation_names(text: str, expected: list[tuple[str, tuple[int, ...], bool]]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Use arr[0] and arr[9] here.",
        "Set x[1] = 3 first.",
        "It covers 5 km² or 10³ m³.",
        "It costs 6 (six) euros (2).",
        "The vector [1, 2, 3] is short.",
        "A value in the interval [0, 1] is fine.",
        "The list = [4, 8, 15].",
        "In [2021] it was closed.",
        "It was [sic] closed [emphasis added].",
        "- [ ] to do\n- [x] done",
        "Dear [NAME], welcome.",
        "![a picture](https://other.example/a.png)",
        "See [the section](#below).",
        "It was closed (May 2020) and (Spring, 2019).",
        "Titanic (1997) is a film.",
        "It weighs 5 (about 11 pounds).",
        "Write to info@shop.example today.",
    ],
)
def test_what_is_no_citation(text: str) -> None:
    assert read(text) == []


def test_a_place_and_a_year_are_no_citation_where_no_source_has_an_author() -> None:
    text = "The Olympic Games (Barcelona, 1992) came."
    plain = Sources(as_passages(["One text."]))
    assert find_marks(text, plain.knows) == [] and len(find_marks(text, SOURCES.knows)) == 1


def test_a_passage_with_the_id_n_is_n() -> None:
    sources = Sources(as_passages([{"id": "2", "text": "a"}, {"id": "1", "text": "b"}]))
    (mark,) = find_marks("It is so [1].", sources.knows)
    assert sources.places(mark.refs[0]) == (1,)


def test_an_id_may_be_that_of_several_parts_of_a_document() -> None:
    sources = Sources(as_passages([{"id": "7", "text": "a"}, {"id": "faq", "text": "b"}, {"id": "7", "text": "c"}]))
    seven, faq, two = (mark.refs[0] for mark in find_marks("So [7], so [faq], so [2].", sources.knows))
    assert [sources.places(ref) for ref in (seven, faq, two)] == [(0, 2), (1,), (1,)]
    assert all(map(sources.is_complete, (seven, faq, two)))


def test_a_number_that_is_no_id_counts_the_list() -> None:
    sources = Sources(as_passages([{"id": "101", "text": "a"}, {"id": "102", "text": "b"}]))
    found = find_marks("So [2], so [101], so [3].", sources.knows)
    assert [sources.places(mark.refs[0]) for mark in found] == [(1,), (0,), ()]


def test_a_blank_item_keeps_its_number() -> None:
    sources = Sources(as_passages(["a", " ", "c"]))
    assert [sources.places(m.refs[0]) for m in find_marks("So [1], [2] and [3].", sources.knows)] == [(0,), (), (1,)]


@pytest.mark.parametrize(
    "text",
    ["[1] One thing.\n[2] Another thing.", "Document 1: One thing.\nDocument 2: Another thing.",
     '<doc id="1">One thing.</doc>\n<doc id="2">Another thing.</doc>'],
)  # fmt: skip
def test_one_text_with_labelled_parts_is_several_sources(text: str) -> None:
    sources = Sources(as_passages(text))
    assert [source.passage.id for source in sources.items] == ["1", "2"]
    second = sources.items[1]
    assert second.whole.text[second.offset :] == second.passage.text and "Another" in second.passage.text


def test_hidden_text_keeps_every_offset() -> None:
    text = "One [1] two\n[2] three"
    hidden = hidden_text(text, [(4, 7), (12, 15)])
    assert hidden == "One     two\n    three" and len(hidden) == len(text)


def test_spellings() -> None:
    assert one_spelling("Doc_1 ") == one_spelling("doc-1") == "doc-1"
    assert one_address("HTTPS://www.A.org/x/?b=1&a=2#top") == one_address("http://a.org/x?a=2&b=1") == "a.org/x?a=2&b=1"


@pytest.mark.parametrize(
    "piece", ["[1]", "[", "(Ortiz, 2019) ", "https://a.b/", "[x](", "10.1234/", "A and B (", "[1, "]
)
def test_reading_is_linear_in_the_length(piece: str) -> None:
    find_marks(piece * 50, SOURCES.knows)
    started = time.process_time()
    find_marks(piece * 20_000, SOURCES.knows)
    assert time.process_time() - started < 5.0
