"""Sums, percentages, dates, orders and steps of an answer, computed and compared: no evidence, no model, no eval.

Run:  python examples/sums_and_dates.py
"""

from evidencerails import Guard

ANSWERS = [
    "Twelve seats at 7 euros each: 12 * 7 = 85 euros.",
    "The price fell from 200 to 150 euros, a drop of 25%.",
    "The price fell from 200 to 150 euros, a drop of 30%.",
    "4 July 2026 is a Saturday, 40 days before 13 August 2026.",
    "4 July 2026 is a Sunday.",
    "Anna is taller than Ben. Ben is taller than Cleo. Cleo is taller than Anna.",
]


def main() -> None:
    """Each answer, and what does not add up in it."""
    guard = Guard({"checks": ["logic"]})
    for answer in ANSWERS:
        report = guard.check_sync(answer)
        print(f"{report.status}: {answer}")
        for finding in report.findings:
            print(f"  {finding.violation}: {finding.reason}")


if __name__ == "__main__":
    main()
