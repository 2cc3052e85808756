"""`evidencerails check --html` and `--debug-claims`: what stands in the page, and that no text can change it."""

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from commands import Done, Run

from evidencerails.testing import ReplayServer

SOURCE = (
    "The Eiffel Tower was built in 1889 by Gustave Eiffel's company and is located in Paris. It is 330 metres tall."
)
ANSWER = "Hello there! The Eiffel Tower was built in 1887. It is 330 metres tall."
HOSTILE = (
    "</mark></style><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> "
    "{{ 7 * 7 }} \u202e1887\u202c \x1b[2J\x00 The tower was built in 1887."
)
VOID = {"meta", "br"}
Written = Callable[..., tuple[Done, str]]


class Page(HTMLParser):
    """Elements, attributes and texts; fails on an element that is not closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self._open), data))

    def text_in(self, tag: str) -> list[str]:
        return [text for path, text in self.texts if tag in path]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def written(evidencerails: Run) -> Written:
    """The run and the page of an answer and its source; `settings` go by a file."""

    def write(answer: str, *more: str, source: str = SOURCE, settings: str = "") -> tuple[Done, str]:
        for name, text in (("answer.txt", answer), ("source.txt", source), ("s.yml", settings)):
            Path(name).write_text(text)
        files = ("-f", "answer.txt", "-e", "source.txt", "--config", "s.yml", "--html", "out.html")
        return evidencerails("check", *files, *more), Path("out.html").read_text(encoding="utf-8")

    return write


def test_the_page_marks_words_and_shows_each_claim_with_type_and_evidence(written: Written) -> None:
    done, text = written(ANSWER)
    shown = Page(text)
    assert done.code == 1 and "⟦1887⟧" in done.out and "temporal" in done.out
    assert shown.text_in("mark") == ["1887", "contradicted, claim 1"]
    assert shown.all("mark")[0]["class"] == "contradicted"
    target = shown.all("a")[0]["href"]
    assert target == "#claim-1" and "claim-1" in [row.get("id") for row in shown.all("tr")]
    rows = "".join(shown.text_in("tbody"))
    assert "The Eiffel Tower was built in 1887." in rows and "temporal" in rows and "source.txt" in rows
    assert any("1889" in quote for quote in shown.text_in("blockquote"))


def test_a_claim_is_marked_rather_than_what_else_is_wrong_with_its_sentence(written: Written) -> None:
    answer = "The Eiffel Tower is 330 metres tall [1]. The Eiffel Tower was built in 1887."
    _, text = written(answer, "--check", "claims", "--check", "citations")
    assert Page(text).text_in("mark") == ["1887", "contradicted, claim 2"]
    assert "the claim cites no source" in text


def test_the_page_loads_and_runs_nothing(written: Written) -> None:
    _, text = written(ANSWER)
    shown = Page(text)
    assert not {"script", "img", "link", "iframe", "object", "form", "base"} & {tag for tag, _ in shown.tags}
    assert not [
        name for _, attributes in shown.tags for name in attributes if name in ("src", "style") or name[:2] == "on"
    ]
    policy = next(m["content"] for m in shown.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    style = "".join(shown.text_in("style"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style and "@import" not in style and "prefers-color-scheme: dark" in style


def test_hostile_texts_stay_texts(written: Written) -> None:
    _, text = written(HOSTILE, "--debug-claims", source=SOURCE + HOSTILE)
    shown = Page(text)
    assert not {"script", "img"} & {tag for tag, _ in shown.tags}
    everything = "".join(text for _, text in shown.texts)
    assert "{{ 7 * 7 }}" in everything and "onerror=" in everything and "\\u202e1887\\u202c" in everything
    assert not re.findall("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("redaction", ["hash", "drop"])
def test_a_redacted_page_has_none_of_the_texts(written: Written, redaction: str) -> None:
    done, text = written(ANSWER, "--debug-claims", settings=f"redaction: {redaction}\n")
    assert done.code == 1
    for told in ("Eiffel", "1887", "1889", "330 metres", "Hello"):
        assert told not in text and told not in done.out


def test_settings_that_hide_evidence_hide_it_in_the_page(written: Written) -> None:
    _, text = written(ANSWER, settings="expose: {evidence: false}\n")
    assert "1887" in text and "1889" not in text and "source.txt" not in text


def test_a_page_that_cannot_be_written_is_wrong_usage(evidencerails: Run, tmp_path: Path) -> None:
    for place in ("nowhere/out.html", "."):
        done = evidencerails("check", "-r", ANSWER, "-t", SOURCE, "--html", place, cwd=tmp_path)
        assert (done.code, done.out) == (2, "") and "cannot write" in done.err


def test_debug_claims_shows_what_was_extracted_before_the_verdicts(evidencerails: Run) -> None:
    done = evidencerails("check", "-r", ANSWER, "-t", SOURCE, "--debug-claims")
    assert done.out.index("extracted claim") < done.out.index("makes no claim") < done.out.index("hallucinated")
    start = ANSWER.index("The Eiffel")
    assert f"{start}:{start + 35} The" in done.out and "rules" in done.out and "Hello there!" in done.out


def test_debug_claims_works_without_evidence_and_needs_the_check(evidencerails: Run) -> None:
    done = evidencerails("check", "-r", ANSWER, "--debug-claims")
    assert done.code == 3 and "extracted claim" in done.out and "rules" in done.out
    done = evidencerails("check", "-r", ANSWER, "-t", SOURCE, "--check", "grounding", "--debug-claims")
    assert done.code == 2 and "--method claims" in done.err


def test_debug_claims_shows_dropped_claims_of_a_model(server: ReplayServer, evidencerails: Run, tmp_path: Path) -> None:
    claims = '{"claims": [{"sentence": 2, "claim": "The Eiffel Tower was built in 1887."}, '
    claims += '{"sentence": 2, "claim": "The tower weighs 10100 tonnes."}]}'
    server.say(claims)
    (tmp_path / "s.yml").write_text(
        f"checks: [claims]\nclaims: {{extractor: llm, classifier: offline}}\n"
        f"llm: {{base_url: '{server.base_url}', model: m, api_key: none}}\n"
    )
    done = evidencerails("check", "-r", ANSWER, "-t", SOURCE, "-c", tmp_path / "s.yml", "--debug-claims")
    assert "10100" in done.out and "and not in the" in " ".join(done.out.split())
    assert re.search(r"│ llm", done.out) and re.search(r"│ rules", done.out)
    assert "1 sentences that the model made no claim of" in done.err
