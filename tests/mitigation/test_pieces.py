"""What is flagged is cut out, the rest stays word for word: on made-up texts of every shape."""

import random
from itertools import accumulate, pairwise

import pytest
from mitigation_tools import RESPONSE, finding

from evidencerails.exchange import Span
from evidencerails.mitigation.pieces import Piece, changes_of, diff_of, is_kept, joined, rewritten, whole, with_flags
from evidencerails.report import Finding

BITS = [
    "The bridge opened in 1932. ",
    "It is 412 metres long!\n\n",
    "- A list item about tolls\n",
    "2. A numbered one, with commas\n",
    "# A heading\n",
    "```\nx = 1\n```\n",
    "東京は首都です。",
    "Emoji 🌉 stand here. ",
    "Half a surrogate \ud800 too. ",
    "No end",
    "  ",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "\r\nA line of Windows.\r\n",
]


def flagged(text: str, start: int, end: int) -> Finding:
    return finding(span=Span.of(text, start, end))


def made_up(seed: int) -> tuple[str, list[Finding]]:
    random_ = random.Random(seed)
    text = "".join(random_.choices(BITS, k=random_.randint(1, 8)))
    found = []
    for _ in range(random_.randint(1, 4)):
        start = random_.randrange(len(text))
        found.append(flagged(text, start, random_.randint(start + 1, len(text))))
    return text, found


@pytest.mark.parametrize("seed", range(150))
def test_cutting_loses_nothing_and_two_rounds_keep_all_that_was_never_flagged(seed: int) -> None:
    text, found = made_up(seed)
    random_ = random.Random(seed)
    pieces = with_flags(whole(text), found)
    assert joined(pieces) == "".join(piece.before.text for piece in pieces) == text
    ends = list(accumulate(len(piece.text) for piece in pieces))
    assert [(piece.before.start, piece.before.end) for piece in pieces] == list(pairwise([0, *ends]))
    flags = [piece.before for piece in pieces if piece.findings]
    assert all(any(f.start <= one.span.start and one.span.end <= f.end for f in flags) for one in found)
    places = [n for n, piece in enumerate(pieces) if piece.findings]
    pieces = rewritten(pieces, {n: random_.choice(["", "Something else."]) for n in places})
    assert is_kept(text, pieces)
    now = joined(pieces)
    if now.strip():
        start = random_.randrange(len(now))
        pieces = with_flags(pieces, [flagged(now, start, start + 1)])
        assert joined(pieces) == now
        pieces = rewritten(pieces, {n: "Again." for n, piece in enumerate(pieces) if piece.findings})
        assert is_kept(text, pieces)
    assert {change.before.text for change in changes_of(pieces)} <= {p.before.text for p in pieces if p.is_touched}


def test_a_word_lost_outside_is_noticed() -> None:
    pieces = list(with_flags(whole(RESPONSE), [flagged(RESPONSE, 50, 55)]))
    rest = next(n for n, piece in enumerate(pieces) if not piece.findings and piece.text.strip())
    lost = Piece(pieces[rest].before, pieces[rest].text.replace("bridge", ""))
    assert not is_kept(RESPONSE, [*pieces[:rest], lost, *pieces[rest + 1 :]])
    assert not is_kept(RESPONSE, pieces[:-1])


def test_the_diff_names_only_what_changed() -> None:
    assert diff_of(RESPONSE, RESPONSE) == ""
    changed = diff_of(RESPONSE, RESPONSE.replace("1911", "1932")).splitlines()
    assert [line for line in changed if line[0] in "+-" and line[:3] not in ("+++", "---")] == [
        "-It opened in 1911.",
        "+It opened in 1932.",
    ]
