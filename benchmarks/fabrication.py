"""How often the check `knowledge` finds an invented paper, statute, drug, symbol or id, and how often it cries wolf.

    python benchmarks/fabrication.py [--json out.json] [--show seen|hand]

Each case is a sentence or two about a thing of some kind. Half name a thing that the trusted list has, half one that it
lacks: another year, another name, a number off by one, a name out of thin air. Further clean cases name nothing that
has to exist, or deny that the invented thing exists. Half of the templates are held out: their cases were never looked
at while the extractors were written. The generator shares no code and no word lists with
`evidencerails.checks.knowledge`. Fifty cases written by hand about real things are reported apart
(`fabrication_cases.jsonl`).

`found`: the planted thing is a finding; `false alarms`: a clean case has one.
"""

# ruff: noqa: SIM905
from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tables import publish

from evidencerails import Guard

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))
import entity_extractors

HAND_WRITTEN = Path(__file__).with_name("fabrication_cases.jsonl")
EXTRACTORS: dict[str, dict[str, Any]] = {
    "drugs": {"function": entity_extractors.drugs, "match": "folded", "severity": "critical"},
    "statutes": {"function": entity_extractors.statutes, "match": "folded"},
    "tickers": {"function": entity_extractors.tickers},
}
"""Kinds that are not shipped but stand among the examples."""
CASES_OF_A_TEMPLATE = 6
STARTS = (
    "Bar Cor Del Fen Gal Hol Jan Kel Lor Mar Nor Pel Quin Ros Sal Tor Ul Ver Wen Yar Zim Brin Dros Stav Tremb"
).split()
ENDS = (
    "ano berg cott dall enko field gaard hardt idis kova lund mann nova owitz pont quist rado smith tsev vik"
).split()
TOPICS = (
    "sleep|soil erosion|bilingual children|battery ageing|bird migration|rural banking|tooth decay|urban heat"
).split("|")
CAUSES = (
    "Clean Harbours|Fair Lending|Digital Records|Consumer Warranty|Night Flights|Rural Roads|Water Quality"
).split("|")
MEDICINES = """ibuprofen warfarin lisinopril metoprolol omeprazole sertraline amoxicillin ciprofloxacin clopidogrel
losartan tramadol levothyroxine montelukast gabapentin prednisone furosemide cetirizine naproxen""".split()


class Thing(NamedTuple):
    """Something that exists or does not: how it may be written, by the name of the slot in a template."""

    slots: dict[str, str]
    row: dict[str, str]


class Case(NamedTuple):
    """One text, and the words in it that are invented; none in a clean one."""

    text: str
    kind: str
    invented: str
    template: str
    is_held_out: bool


def surname(rng: random.Random) -> str:
    return rng.choice(STARTS) + rng.choice(ENDS)


def paper(rng: random.Random) -> Thing:
    author, other, year = surname(rng), surname(rng), str(rng.randint(1985, 2023))
    about = rng.choice(["Notes on", "Patterns of", "A field study of", "Rethinking"])
    title = f"{about} {rng.choice(TOPICS)} in {surname(rng)}"
    doi = f"10.{rng.randint(1000, 9999)}/{rng.choice('abcdef')}{rng.randint(10_000, 99_999)}"
    slots = {"a": author, "o": other, "y": year, "t": title, "d": doi, "i": rng.choice("ABCDEFGH")}
    return Thing(slots, {"authors": f"{author}, {slots['i']}.; {other}, Q.", "year": year, "title": title, "doi": doi})


def statute(rng: random.Random) -> Thing:
    year, title = str(rng.randint(1950, 2022)), rng.choice(CAUSES)
    code = f"{rng.randint(2, 50)} U.S.C. § {rng.randint(100, 9000)}"
    act = f"{title} Act {year}"
    section = f"Section {rng.randint(2, 90)} of the {act}"
    eu = f"Directive {rng.randint(2001, 2022)}/{rng.randint(10, 99)}/EU"
    case = f"{surname(rng)} v. {surname(rng)}, {rng.randint(100, 599)} U.S. {rng.randint(1, 900)} ({year})"
    return Thing(
        {"c": code, "s": section, "e": eu, "k": case, "act": act}, {"name": "|".join((code, section, eu, case, act))}
    )


def drug(rng: random.Random) -> Thing:
    made = (
        rng.choice(STARTS)
        + rng.choice(STARTS).lower()
        + rng.choice(["azumab", "ivastatin", "eprazole", "osartan", "aprost", "etrine", "oxil", "afen"])
    )
    return Thing({"m": made.lower(), "M": made, "n": str(rng.choice([5, 10, 20, 50, 250]))}, {"name": made})


def ticker(rng: random.Random) -> Thing:
    symbol = "".join(rng.choice("ABCDEFGHIKLMNOPRSTUVWXZ") for _ in range(rng.choice([3, 4, 4])))
    return Thing({"s": symbol, "c": f"{surname(rng)} Industries"}, {"name": symbol})


def identifier(rng: random.Random) -> Thing:
    number = str(rng.randint(100_000, 999_999))
    slots = {
        "n": number,
        "p": f"{rng.choice(['ORD', 'INV', 'RMA'])}-{number}",
        "u": f"{rng.choice(['cus', 'acct'])}_{number}x",
    }
    return Thing(slots, {"name": "|".join(slots.values())})


Make = Callable[[random.Random], Thing]
KINDS: dict[str, Make] = {"papers": paper, "statutes": statute, "drugs": drug, "tickers": ticker, "ids": identifier}
# Seen and held out. [ ] marks the words that are invented in a planted case.
TEMPLATES: dict[str, tuple[list[str], list[str]]] = {
    "papers": (
        [
            "[{a} et al. ({y})] report that the effect doubles in winter.",
            "The effect doubles in winter [({a} & {o}, {y})].",
            "As [{a} ({y})] argued, the sample was too small.",
            'The paper "[{t}]" gives the numbers.',
            "The numbers are in doi:[{d}].",
        ],
        [
            "This was first described by [{a} and {o} ({y})].",
            "Several groups disagree (see [{a}, {y}]; compare the appendix).",
            "References:\n- [{a}, {i}. ({y})]. {t}. Journal of Results, 12, 1-20.",
            "[{a}'s {y} study] found no such effect.",
            "You can read it at https://doi.org/[{d}] for free.",
        ],
    ),
    "statutes": (
        [
            "Under [{c}], this is a misdemeanour.",
            "[{s}] requires a written notice.",
            "The limit follows from [{e}].",
            "The court held so in [{k}].",
            "The [{act}] forbids it.",
        ],
        [
            "Such a contract is void; see [{c}] and the commentary.",
            "You must give notice within ten days ([{s}]).",
            "Since [{e}] came into force, suppliers must keep records.",
            "Since [{k}], the burden lies with the seller.",
            "Landlords rely on the [{act}] in such cases.",
        ],
    ),
    "drugs": (
        [
            "Take [{m}] {n} mg twice a day.",
            "The drug [{M}] lowers blood pressure.",
            "Doctors often give {n} mg of [{m}] first.",
            "Patients on [{m}] should avoid grapefruit.",
        ],
        [
            "A usual starting dose is {n} mg [{m}] at night.",
            "She was switched to [{M}] ({n} mg) last week.",
            "A newer medication called [{M}] has fewer side effects.",
            "[{M}] is not recommended during pregnancy.",
        ],
    ),
    "tickers": (
        [
            "{c} (NASDAQ: [{s}]) rose 4% today.",
            "I would watch [${s}] this week.",
            "{c} trades under the ticker [{s}].",
            "[{s}] shares fell after the report.",
        ],
        [
            "Buy {c}, ticker symbol [{s}], before Friday.",
            "{c} (NYSE: [{s}]) pays a dividend.",
            "Analysts raised their target for [{s}] stock to $40.",
            "Its symbol is [{s}].",
        ],
    ),
    "ids": (
        [
            "Your order [{p}] has been shipped.",
            "I have closed ticket #[{n}] for you.",
            "The account [{u}] is active.",
            "Invoice [{p}] was paid on Monday.",
        ],
        [
            "Good news: order number [{n}] arrives tomorrow.",
            "The refund for [{p}] is on its way.",
            "Customer [{u}] asked for a new card.",
            "Please quote reference [{n}] when you call.",
        ],
    ),
}
CLEAN: dict[str, tuple[list[str], list[str]]] = {
    "papers": (
        ["I could not find any paper by {a} et al. ({y}).", "In March ({y}) the lab moved to a new building."],
        [
            "Did {a} et al. ({y}) ever publish that?",
            "The World Cup ({y}) was held in two countries, and Team {a}, {y}, won.",
        ],
    ),
    "statutes": (
        ["There is no such law as the {act}.", "Section 3 of this report lists the open points."],
        ["I was unable to find {s} in the register.", "We had to act in {n}, as article after article appeared."],
    ),
    "drugs": (
        ["A portion contains {n} mg of sodium and {n} mg of calcium.", "No such drug as {m} is known to me."],
        ["Adults need about {n} mg of zinc a day.", "{M} is a fictional drug in the novel."],
    ),
    "tickers": (
        ["The CEO of {c} said that US stock prices rose by $5.", "I do not know any ticker symbol {s}."],
        ["{c} sold its UK shares and its EU units in the IPO.", "The symbol for gold is Au, and that of iron is Fe."],
    ),
    "ids": (
        ["We shipped order 2 of 3 in the year 2021.", "I could not find the order {p} in our system."],
        ["In case 7 of the series, part 12 failed after 100 hours.", "There is no account {u} in our records."],
    ),
}


def generated(seed: int = 7) -> tuple[list[Case], dict[str, list[dict[str, str]]]]:
    """The cases, and the lists of what exists."""
    rng = random.Random(seed)
    cases: list[Case] = []
    known: dict[str, list[dict[str, str]]] = {kind: [] for kind in KINDS}
    for kind, make in KINDS.items():
        for templates, planted in ((TEMPLATES, True), (CLEAN, False)):
            for is_held_out, group in enumerate(templates[kind]):
                for template in group:
                    for _ in range(CASES_OF_A_TEMPLATE):
                        cases += _cases(rng, kind, make, template, bool(is_held_out), planted, known)
    there = {name for rows in known.values() for row in rows for value in row.values() for name in value.split("|")}
    cases = [case for case in cases if case.invented not in there]  # another template may have made it real
    rng.shuffle(cases)
    return cases, known


def _cases(
    rng: random.Random, kind: str, make: Make, template: str, held_out: bool, planted: bool, known: dict[str, list[Any]]
) -> Iterator[Case]:
    real, other = make(rng), make(rng)
    if kind == "drugs" and planted and rng.random() < 0.5:
        name = rng.choice(MEDICINES)
        real = real._replace(slots={**real.slots, "m": name, "M": name.capitalize()}, row={"name": name})
    known[kind].append(real.row)
    invented = _near(rng, real, kind) if rng.random() < 0.5 else other
    if planted:
        yield Case(_filled(template, real), kind, "", template, held_out)
        text = _filled(template, invented)
        words = template[template.index("[") + 1 : template.index("]")].format_map(_Slots(invented.slots))
        yield Case(text, kind, words, template, held_out)
    else:
        slots = {"n": str(rng.choice([5, 20, 250])), **invented.slots}
        yield Case(template.format_map(_Slots(slots)), kind, "", template, held_out)


class _Slots(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return key


def _filled(template: str, thing: Thing) -> str:
    return template.replace("[", "").replace("]", "").format_map(_Slots(thing.slots))


def _near(rng: random.Random, thing: Thing, kind: str) -> Thing:
    """The thing, all but for a digit or a letter of each way to write it."""
    slots = dict(thing.slots)
    for key, text in slots.items():
        if kind == "papers" and key not in ("y", "d", "t"):
            continue
        if key in ("n", "i") and kind in ("drugs", "papers"):
            continue
        place = rng.choice([n for n, c in enumerate(text) if c.isalnum()][-2:])
        old = text[place]
        pool = "0123456789" if old.isdigit() else "bdklmprtvz" if old.islower() else "BDKLMPRTVZ"
        slots[key] = text[:place] + rng.choice([c for c in pool if c != old]) + text[place + 1 :]
    if kind == "drugs":
        slots["m"] = slots["M"].lower()
    return Thing(slots, {})


def settings(known: dict[str, list[dict[str, str]]], folder: Path) -> dict[str, Any]:
    """Settings with a CSV list for each kind."""
    for kind, rows in known.items():
        flat = [{"name": name} for row in rows for name in row["name"].split("|")] if "name" in rows[0] else rows
        flat += [{"name": name} for name in MEDICINES] if kind == "drugs" else []
        with (folder / f"{kind}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, flat[0].keys())
            writer.writeheader()
            writer.writerows(flat)
    fields = {"author": "authors", "year": "year", "title": "title", "doi": "doi"}
    sources: dict[str, Any] = {kind: {"kind": "csv", "path": str(folder / f"{kind}.csv")} for kind in known}
    sources["papers"]["fields"] = fields
    return {
        "checks": ["knowledge"],
        "knowledge": {
            "sources": sources,
            "entities": {kind: {"sources": [kind], **EXTRACTORS.get(kind, {})} for kind in known},
        },
    }


class Outcome(NamedTuple):
    """What the check said about one case."""

    case: Case
    is_found: bool
    is_alarm: bool
    status: str
    spans: list[str]


def judged(cases: list[Case], guard: Guard) -> list[Outcome]:
    """Every case with its outcome."""
    outcomes = []
    for case in cases:
        report = guard.check_sync(case.text)
        spans = [finding.span.text for finding in report.findings if finding.span]
        overlaps = [s for s in spans if case.invented and (s in case.invented or case.invented.strip("()") in s)]
        outcomes.append(Outcome(case, bool(overlaps), bool(spans) and not case.invented, report.status, spans))
    return outcomes


def figures(outcomes: list[Outcome]) -> dict[str, float]:
    """Rates over the planted and the clean cases."""
    planted = [o for o in outcomes if o.case.invented]
    clean = [o for o in outcomes if not o.case.invented]
    return {
        "planted": len(planted),
        "found": sum(o.is_found for o in planted) / max(1, len(planted)),
        "clean": len(clean),
        "false_alarms": sum(o.is_alarm for o in clean) / max(1, len(clean)),
    }


def hand_written() -> tuple[list[Case], dict[str, list[dict[str, str]]]]:
    """The cases of the file, and the lists that its first line holds."""
    lines = [json.loads(line) for line in HAND_WRITTEN.read_text(encoding="utf-8").splitlines() if line.strip()]
    cases = [Case(row["text"], row["kind"], row.get("invented", ""), "by hand", True) for row in lines[1:]]
    return cases, lines[0]["known"]


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write every case with its outcome to this file")
    parser.add_argument(
        "--show", choices=("seen", "hand"), help="print the cases that went wrong; never those held out"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        cases, known = generated()
        outcomes = judged(cases, Guard(settings(known, Path(one))))
        own_cases, own_known = hand_written()
        own = judged(own_cases, Guard(settings(own_known, Path(two))))
    groups = {
        "generated, templates seen": [o for o in outcomes if not o.case.is_held_out],
        "generated, templates held out": [o for o in outcomes if o.case.is_held_out],
        **{f"held out: {kind}": [o for o in outcomes if o.case.is_held_out and o.case.kind == kind] for kind in KINDS},
        "written by hand": own,
    }
    data = {name: figures(group) for name, group in groups.items()}
    if options.json:
        rows_of = [
            {**o.case._asdict(), "found": o.is_found, "alarm": o.is_alarm, "status": o.status} for o in outcomes + own
        ]
        options.json.write_text(json.dumps(rows_of, indent=1), encoding="utf-8")
    if options.show:
        for o in own if options.show == "hand" else groups["generated, templates seen"]:
            if o.is_alarm or (o.case.invented and not o.is_found):
                print(o.status, repr(o.case.text), "planted:", repr(o.case.invented), "spans:", o.spans)
        return
    rows = [("cases", "planted", "found", "clean", "false alarms")]
    for name, f in data.items():
        rows.append((name, f"{f['planted']:.0f}", f"{f['found']:.1%}", f"{f['clean']:.0f}", f"{f['false_alarms']:.1%}"))
    publish("fabrication", rows, data)


if __name__ == "__main__":
    main()
