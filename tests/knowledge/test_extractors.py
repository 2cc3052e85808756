"""What in a text names something that must exist, and what only looks like it."""

import time
from pathlib import Path

import pytest

from evidencerails.checks.knowledge.entities import KINDS, kind_of
from evidencerails.errors import SettingsError
from evidencerails.settings.knowledge import EntitySettings

FOUND = {
    "papers": [("As Chen et al. (2019) show, ", ["Chen 2019"]),
     ("It holds (Okafor & Brandt, 2020; van der Meer, 2018).", ["Okafor 2020", "Meer 2018"]),
     ("Brown, J. K. (2001). On things.", ["Brown 2001"]), ("See 10.1145/3571730, and arXiv:2303.08896v2.",
     ["10.1145/3571730", "2303.08896"]), ('The paper "On the limits of sleep" says so.', ["On the limits of sleep"]),
     ("Lin's 2021 paper started it.", ["Lin 2021"]), ("It was shown (Nakamura 2018), and (see Ito 2019; Sato 2020).",
     ["Nakamura 2018", "Ito 2019", "Sato 2020"]), ("Nakamura et al. 2018 show it, as do (Ito et al. 2019).",
     ["Nakamura 2018", "Ito 2019"]), ("It holds [Nakamura 2018], [Ito, 2019] and (Sato 2020: 14).", ["Nakamura 2018",
     "Ito 2019", "Sato 2020"]), ("(Şahin 2018; Østergaard, Å. 2019), as Đorđević (2020) says.", ["Şahin 2018",
     "Østergaard 2019", "Đorđević 2020"]), ("See [3] of May, 2020 (the UNESCO 2018), [sic] Lund, 2020.", []),
     ("In Berlin 2018 was hot (that of May 2018, too). Smith and Jones 2020 was a film.", []),
     ("In May (2020) we met. The Act (1998) and World Cup (2014).", []), ("Apple, 2020 revenue rose. Chapter 3 (2001).",
     [])],
    "ids": [("Order #10234 of usr_4f9a, ticket INC0012345.", ["10234", "usr_4f9a", "INC0012345"]),
     ("CVE-2021-44228 hits ORD-77812.", ["CVE-2021-44228", "ORD-77812"]), ("Id 123e4567-e89b-12d3-a456-426614174000.",
     ["123e4567-e89b-12d3-a456-426614174000"]), ("In case 3 of 2021, COVID-19, order 2nd, part 12, ISO-9001.", [])],
}  # fmt: skip
EXAMPLES = {
    "statutes": [("Under 18 U.S.C. § 1030(a)(2) it is a crime.", ["18 U.S.C. § 1030(a)(2)"]),
     ("See Section 12 of the Data Protection Act 2018.", ["Section 12 of the Data Protection Act 2018"]),
     ("Article 6 GDPR and § 823 BGB apply.", ["Article 6 GDPR", "§ 823 BGB"]),
     ("The Clean Harbours Act of 1977 says so.", ["Clean Harbours Act of 1977"]),
     ("Directive 95/46/EC and Public Law 104-191.", ["Directive 95/46/EC", "Public Law 104-191"]),
     ("Roe v. Wade, 410 U.S. 113 (1973) was overruled.", ["Roe v. Wade, 410 U.S. 113 (1973)"]),
     ("Section 3 of this report and Article 5 below.", []), ("Act now. In 2018 we had to act.", [])],
    "drugs": [("Atorvastatin and pembrolizumab help.", ["Atorvastatin", "pembrolizumab"]),
     ("Take 500 mg of zolmitrexan, or Corvadine 20 mg.", ["zolmitrexan", "Corvadine"]), ("The drug Fooprazole is new.",
     ["Fooprazole"]), ("A serving contains 200 mg sodium and 5 mg of iron.", []),
     ("The daily dose 40 mg is the maximum of 40 mg.", [])],
    "tickers": [("$AAPL rose; Microsoft (NASDAQ: MSFT) too.", ["AAPL", "MSFT"]), ("NYSE: BRK.B and ticker symbol ZZZQ.",
     ["BRK.B", "ZZZQ"]), ("It costs $5 or US$20, and USA stock rose.", [])],
}  # fmt: skip
"""What the extractors of `examples/entity_extractors.py` find."""
CASES = [(kind, text, names) for kind, rows in FOUND.items() for text, names in rows]


def names_in(text: str, kind: str, **settings: object) -> list[str]:
    made = kind_of(kind, EntitySettings.model_validate({"sources": ["s"], **settings}))
    found = sorted(made.extract(text), key=lambda entity: entity.start)
    assert all(0 <= e.start < e.end <= len(text) for e in found)
    return [entity.text for entity in found]


@pytest.mark.parametrize(("kind", "text", "names"), CASES)
def test_entities_of_each_kind(kind: str, text: str, names: list[str]) -> None:
    assert names_in(text, kind) == names


@pytest.mark.parametrize(("kind", "text", "names"), [(k, t, n) for k, rows in EXAMPLES.items() for t, n in rows])
def test_entities_of_the_extractors_among_the_examples(
    monkeypatch: pytest.MonkeyPatch, kind: str, text: str, names: list[str]
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    assert names_in(text, kind, function=f"entity_extractors:{kind}") == names


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("junk", ["A'", "Aa ", "1 ", "Smith, ", '"', "aaaaaaaa", "(", "AB-", "1-", "\u0301"])
def test_no_text_takes_long(kind: str, junk: str) -> None:
    started = time.process_time()
    names_in(junk * (60_000 // len(junk)), kind)
    assert time.process_time() - started < 2.0


def test_a_kind_of_your_own_by_pattern() -> None:
    assert names_in("Part QX-17 and part QX-18.", "parts", pattern=r"\bQX-(?P<value>\d+)\b") == ["17", "18"]
    assert names_in("QX-17", "parts", pattern=r"QX-\d+") == ["QX-17"]


def test_a_kind_of_your_own_by_function() -> None:
    assert names_in("abc", "mine", function=lambda text: [(0, 2)]) == ["ab"]
    for wrong in ([(2, 1)], [(0, 99)], [("a", 1)]):
        with pytest.raises(ValueError, match=r"expected \(start, end\)"):
            names_in("abc", "mine", function=lambda text, wrong=wrong: wrong)


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(SettingsError, match="unknown kind; did you mean 'papers'"):
        kind_of("paper", EntitySettings(sources=("s",)))
