"""Verdicts of the embedded model on plain cases, each beside its near miss."""

import pytest

from evidencerails import Guard

BRIDGE = (
    "The Harbour Bridge of Porto Lindo was opened in 1962 by mayor Ana Ruiz. It is 480 metres long and carries two "
    "lanes of traffic and a tram line. Porto Lindo has 120,000 inhabitants."
)
RETURNED = "Customers may return any product within 30 days of purchase."
REFUND = f"{RETURNED} Refunds are paid to the original payment method."


RETURNS = (
    "Items can be returned within 30 days of delivery. Refunds are paid within 5 business days. "
    "Support is open from 8:00 to 18:00 on working days."
)


@pytest.fixture(scope="module")
def embedded() -> Guard:
    return Guard()


@pytest.mark.parametrize(
    ("evidence", "response", "status"),
    [
        (BRIDGE, "The Harbour Bridge of Porto Lindo was opened in 1962.", "grounded"),
        (BRIDGE, "The Harbour Bridge of Porto Lindo was opened in 1999.", "hallucinated"),
        (BRIDGE, "The bridge is 480 metres long.", "grounded"),
        (BRIDGE, "The bridge is 900 metres long.", "hallucinated"),
        (BRIDGE, "Mayor Ana Ruiz opened the Harbour Bridge.", "grounded"),
        (BRIDGE, "The Harbour Bridge was designed by the French engineer Louis Moreau.", "hallucinated"),
        (BRIDGE, "The bridge does not carry a tram line.", "hallucinated"),
        (REFUND, "You can return a product within 30 days.", "grounded"),
        (REFUND, "You can return a product within 90 days.", "hallucinated"),
        (REFUND, "Refunds are never paid.", "hallucinated"),
        (REFUND, f"Hello! {RETURNED} Let me know if you need more help.", "grounded"),
        (REFUND, "Hello! Shipping is free for all orders above 50 euros. Let me know.", "hallucinated"),
        (RETURNS, "Refunds are paid within 30 business days.", "hallucinated"),  # the number of another sentence
        (RETURNS, "Refunds are paid within 12 business days.", "hallucinated"),
        (RETURNS, "Refunds are paid within 5 business days.", "grounded"),
        (RETURNS, "Items can be returned within 30 days and refunds are paid within 5 business days.", "grounded"),
    ],
)
async def test_plain_cases(embedded: Guard, evidence: str, response: str, status: str) -> None:
    report = await embedded.check(response, evidence=[evidence])
    assert report.status == status, report.claims
    assert (report.decision == "allow") == (status == "grounded")


COPY = "The Eiffel Tower opened in 1889."
AROUND = (
    "The Louvre opened in 1793.", "It is 330 metres tall.", COPY, "The lift to the top opened in 1983.",
    "It was closed in 1940 and reopened in 1946.", "The Arc de Triomphe was finished in 1836.",
)  # fmt: skip


@pytest.mark.parametrize(
    "evidence",
    [
        COPY,
        " ".join(AROUND),
        " ".join(AROUND * 12),  # more than one window
        "# Monuments of Paris\n\n## Eiffel Tower\n\n" + "\n\n".join(AROUND),
        "\n".join(f"- {one}" for one in AROUND),
        "| fact | source |\n|---|---|\n" + "\n".join(f"| {one} | guide |" for one in AROUND),
        list(AROUND),
        ["The Eiffel Tower opened in 1898.", COPY],
    ],
)
async def test_a_sentence_that_the_evidence_has_word_by_word_is_supported(
    embedded: Guard, evidence: str | list[str]
) -> None:
    report = await embedded.check(COPY, evidence=evidence)
    assert (report.status, report.claims[0].label) == ("grounded", "supported")


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
async def test_padding_hides_nothing(embedded: Guard, place: float) -> None:
    filler = "The council met on Tuesday and talked about the budget of the local library. " * 120
    cut = int(len(filler) * place)
    evidence = f"{filler[:cut]} {BRIDGE} {filler[cut:]}"
    for year, status in ((1999, "hallucinated"), (1962, "grounded")):
        report = await embedded.check(f"The Harbour Bridge of Porto Lindo was opened in {year}.", evidence=evidence)
        assert report.status == status


TOWER, LENGTH = "The tower is in Paris.", "The bridge is 300 m long."


@pytest.mark.parametrize(
    ("response", "samples", "drifts"),
    [
        (TOWER, ["The tower is in Lyon.", "The tower is in Lyon, France."], True),
        (TOWER, ["It stands in Paris.", "The tower is located in Paris, France."], False),
        (LENGTH, ["The bridge has a length of 512 metres.", "The bridge is 512 m long."], True),
        (LENGTH, ["The bridge has a length of 300 metres.", "Opened in 1901, it is 300 m long."], False),
        ("The drug was approved in 2015.",
         ["The FDA approved the drug in 2011.", "The drug got FDA approval in 2009."], True),
        ("The CEO of Acme is John Brown.",
         ["Acme's CEO is Lisa Park.", "The chief executive of Acme is Tom Reed."], True),
        ("Marie Curie won two Nobel Prizes.",
         ["Curie won it in 1903 and in 1911.", "She got two Nobel Prizes."], False),
    ],
)  # fmt: skip
async def test_another_name_or_number_in_the_samples_is_drift_and_other_words_are_none(
    response: str, samples: list[str], drifts: bool
) -> None:
    report = await Guard({"checks": ["consistency"]}).check(response, samples=samples, prompt="Tell me about it.")
    assert (report.status, report.decision) == (("hallucinated", "block") if drifts else ("grounded", "allow"))
    assert [finding.span.text for finding in report.findings if finding.span] == [response] * drifts


async def test_a_contradiction_that_no_word_proves_is_no_support(embedded: Guard) -> None:
    """Its share went to entailment, and .07 became .81."""
    evidence = ["The Halden Bridge opened on 3 May 1932. In 1932 it was the longest. It is 412 metres long."]
    assert (await embedded.check("It opened in nineteen thirty-three.", evidence=evidence)).status == "hallucinated"


async def test_a_number_of_a_table_stands_in_the_window_that_has_its_line(embedded: Guard) -> None:
    """Every window is as near by its words; the widest one was asked for the numbers, which stand in another."""
    months = ("May", "June", "July")
    lines = (
        f"Section {n}. Tank {n} holds {n * 7} litres and was built on {n % 28 + 1} {months[n % 3]} {1900 + n % 99}."
        for n in range(60)
    )
    report = await embedded.check("Tank 36 holds 252 litres.", evidence=["\n\n".join(lines)])
    assert report.status == "grounded", report.claims
