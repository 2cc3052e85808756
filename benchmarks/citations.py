"""How often the check `citations` finds what is wrong with the citations of an answer, and how often it cries wolf.

    python benchmarks/citations.py [--json out.json] [--show seen]

Answers about made-up buildings are written from made-up passages, in twelve styles of citing; into one half of them
one violation is planted. Five styles and twelve kinds of fact are seen, seven and twelve held out: their cases were
not looked at while the rules were written, but for the last one (reference/benchmarks.md). The generator shares no code
and no word lists with `evidencerails.checks`. A last set of twelve kinds of fact was written when the rules were done,
and measured as it was. Fifty cases written by hand are reported apart (`citation_cases.jsonl`).

Columns: `found` = the planted violation is among the findings; `only` = and no other; `false alarms` = sound answers
with any finding.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evidencerails import Guard

HAND_WRITTEN = Path(__file__).with_name("citation_cases.jsonl")
PER_TEMPLATE = 6
LATE_PER_TEMPLATE = 3
SEED = 20
PLACES = "Ostra Velm Karsund Tiber Mirow Sarnen Lovech Brno Aveiro Piran Tartu Visby Ravna Telč Gmund Hanko".split()  # noqa: SIM905
KINDS = ["Bridge", "Museum", "Lighthouse", "Library", "Observatory", "Theatre", "Harbour", "Station", "Mill", "Dam"]
FIRST = ["Ines", "Piet", "Olga", "Tomas", "Rhea", "Jonas", "Maren", "Iker", "Selma", "Boris"]
LAST = [
    "Aldana",
    "Brandt",
    "Cerny",
    "Dolan",
    "Eklund",
    "Farkas",
    "Grieg",
    "Holub",
    "Ivers",
    "Jansky",
    "Kadlec",
    "Lemaire",
]
OPINIONS = [
    "a quiet answer to the noise of the city",
    "the most honest work of its decade",
    "a gift that nobody had dared to ask for",
    "proof that patience builds better than money",
    "a stubborn piece of common sense",
    "the only thing here that tourists never photograph",
]


class Fact(NamedTuple):
    """Something a passage says, and how an answer says it again."""

    passage: str
    answer: str
    changed: str
    """The answer with another value."""


class World(NamedTuple):
    """Four passages and the facts that each of them holds."""

    passages: list[dict[str, Any]]
    facts: list[list[Fact]]
    quotes: list[tuple[str, str, str]]
    """By passage: who said it, the words, the passage's sentence around them."""


class Case(NamedTuple):
    """One answer and what is wrong with it."""

    answer: str
    evidence: list[Any]
    planted: str
    """Empty for a sound answer."""
    template: str
    is_held_out: bool


def number(rng: random.Random, low: int, high: int) -> tuple[int, int]:
    """Two different numbers."""
    first, second = rng.sample(range(low, high), 2)
    return first, second


def opened(rng: random.Random, it: str) -> Fact:
    a, b = number(rng, 1850, 2010)
    return Fact(f"{it} was opened in {a}.", f"{it} opened in {a}", f"{it} opened in {b}")


def length(rng: random.Random, it: str) -> Fact:
    a, b = number(rng, 40, 900)
    return Fact(f"{it} is {a} metres long.", f"{it} has a length of {a} metres", f"{it} has a length of {b} metres")


def cost(rng: random.Random, it: str) -> Fact:
    a, b = number(rng, 3, 90)
    return Fact(f"{it} cost {a} million crowns.", f"{it} cost {a} million crowns", f"{it} cost {b} million crowns")


def designer(rng: random.Random, it: str) -> Fact:
    a, b = person(rng, 2)
    return Fact(f"{it} was designed by {a}.", f"{a} designed {it}", f"{b} designed {it}")


def staff(rng: random.Random, it: str) -> Fact:
    a, b = number(rng, 12, 400)
    return Fact(f"{it} employs {a} people.", f"{a} people work at {it}", f"{b} people work at {it}")


def towers(rng: random.Random, it: str) -> Fact:
    a, b = rng.sample(["two", "three", "four", "five", "six"], 2)
    return Fact(f"{it} has {a} towers of brick.", f"{it} has {a} brick towers", f"{it} has {b} brick towers")


def owner(rng: random.Random, it: str) -> Fact:
    a, b = rng.sample(["the county", "a foundation", "the railway company", "the navy", "a family of brewers"], 2)
    return Fact(f"{it} belongs to {a}.", f"{it} is owned by {a}", f"{it} is owned by {b}")


def visitors(rng: random.Random, it: str) -> Fact:
    a, b = number(rng, 11, 95)
    return Fact(
        f"About {a},000 people visit {it} every year.",
        f"{it} has about {a},000 visitors a year",
        f"{it} has about {b},000 visitors a year",
    )


# Kinds of fact as data: the passage's words, the answer's words ({it} = the building, {a} = the value), and the values.
SEEN_WORDINGS = (
    ("{it} can hold up to {a} people.", "{it} has room for {a} people", range(60, 3_000)),
    ("Builders needed {a} years to finish {it}.", "it took {a} years to build {it}", range(2, 30)),
    ("{it} was heavily damaged by fire in {a}.", "a fire did great damage to {it} in {a}", range(1860, 2005)),
    ("The roof of {it} is made of {a}.", "{it} has a roof of {a}", ("copper", "slate", "glass", "zinc", "straw")),
    ("Every {a}, {it} stays closed.", "{it} does not open on {a}s", ("Monday", "Tuesday", "Sunday", "Friday")),
    ("A ticket for {it} costs {a} crowns.", "visitors pay {a} crowns to enter {it}", range(20, 400)),
    ("{it} stands {a} metres above the sea.", "{it} lies at a height of {a} metres", range(11, 900)),
    ("The company {a} carried out the repairs of {it}.", "{it} was repaired by {a}", ("Norbau", "Kestrel", "Alvex")),
)
HELD_OUT_WORDINGS = (
    (
        "It takes {a} minutes to walk from the market to {it}.",
        "{it} is a walk of {a} minutes from the market",
        range(3, 55),
    ),
    ("The council gave {it} protected status in {a}.", "{it} has been protected since {a}", range(1950, 2015)),
    (
        "{it} replaced an older building made of {a}.",
        "before {it}, a building of {a} stood there",
        ("timber", "stone", "clay"),
    ),
    ("The heating of {it} burns {a}.", "{it} is heated with {a}", ("gas", "wood chips", "oil", "coal")),
    (
        "A statue of {a} greets those who enter {it}.",
        "a statue of {a} stands at the entrance of {it}",
        ("a lion", "a horse", "a monk"),
    ),
    ("Only {a} percent of the rooms of {it} are in use.", "{a} percent of the rooms of {it} are used", range(11, 89)),
    ("In {a}, the collection of {it} was sold.", "the collection of {it} was sold off in {a}", range(1880, 2015)),
    (
        "{it} closes its doors at {a} in the evening.",
        "the closing time of {it} is {a} in the evening",
        ("six", "seven", "eight"),
    ),
)


LATE_WORDINGS = (
    ("{it} shuts for repairs every {a} years.", "every {a} years, {it} is shut for repairs", range(2, 20)),
    (
        "The garden behind {it} is known for its {a}.",
        "{it} has a garden known for its {a}",
        ("roses", "ferns", "lilies"),
    ),
    (
        "{it} was a gift from {a} to the citizens.",
        "the citizens received {it} from {a}",
        ("a widow", "a duke", "a sailor"),
    ),
    ("Rain leaked into {it} until {a}.", "until {a}, rain came into {it}", range(1900, 2015)),
    ("The lift in {it} holds {a} visitors.", "{a} visitors fit in the lift of {it}", range(4, 40)),
    ("{it} gets its water from {a}.", "the water for {it} comes from {a}", ("a spring", "a lake", "a well")),
    ("People over {a} pay nothing at {it}.", "for people over {a}, {it} costs nothing", range(55, 90)),
    ("{it} has been run by {a} since the war.", "since the war, {a} has run {it}", ("a bank", "the army", "a church")),
    ("A {a} hangs in the hall of {it}.", "in the hall of {it} there is a {a}", ("whale", "tapestry", "bell")),
    ("The bus stop is {a} metres away from {it}.", "{it} is {a} metres from the bus stop", range(30, 900)),
    ("Lightning struck {it} in {a}.", "{it} was hit by lightning in {a}", range(1860, 2015)),
    ("{it} lends its rooms to {a} in the evening.", "in the evening, {a} use the rooms of {it}", ("choirs", "scouts")),
)
"""Written when the rules were done, measured as they are, and not looked at since: no rule can lean on them."""


def worded(passage: str, answer: str, values: Sequence[Any]) -> Callable[[random.Random, str], Fact]:
    """A kind of fact from its wordings."""

    def made(rng: random.Random, it: str) -> Fact:
        a, b = rng.sample(values, 2)
        return Fact(passage.format(it=it, a=a), answer.format(it=it, a=a), answer.format(it=it, a=b))

    return made


SEEN_FACTS = (opened, length, cost, designer, *(worded(*row) for row in SEEN_WORDINGS))
HELD_OUT_FACTS = (staff, towers, owner, visitors, *(worded(*row) for row in HELD_OUT_WORDINGS))


LATE_FACTS = tuple(worded(*row) for row in LATE_WORDINGS)


def person(rng: random.Random, count: int) -> list[str]:
    """Full names, all different."""
    lasts = rng.sample(LAST, count)
    return [f"{rng.choice(FIRST)} {last}" for last in lasts]


def world(rng: random.Random, facts: tuple[Callable[[random.Random, str], Fact], ...]) -> World:
    """Two buildings, two passages each, of two facts and one opinion."""
    names = [f"the {place} {rng.choice(KINDS)}" for place in rng.sample(PLACES, 2)]
    lasts, opinions = rng.sample(LAST, 4), rng.sample(OPINIONS, 4)
    passages, statements, quotes = [], [], []
    for place in range(4):
        it, makers = names[place // 2], rng.sample(facts, 4)
        own = [capital(make(rng, it)) for make in makers[(place % 2) * 2 : (place % 2) * 2 + 2]]
        critic = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        said = f'The critic {critic} called {it} "{opinions[place]}".'
        year = rng.randint(1995, 2023)
        slug = it.removeprefix("the ").lower().replace(" ", "-")
        passages.append(
            {
                "id": f"{slug}-{place + 1}",
                "text": f"{own[0].passage} {own[1].passage} {said}",
                "source": f"https://www.{slug}.example/pages/{place + 1}",
                "metadata": {
                    "author": lasts[place],
                    "year": year,
                    "doi": f"10.5555/{slug}.{place + 1}",
                    "title": f"Notes on {it}, part {place + 1}",
                },
            }
        )
        statements.append(own)
        quotes.append((critic, opinions[place], it))
    return World(passages, statements, quotes)


def capital(fact: Fact) -> Fact:
    """The fact's sentences, each beginning with a capital."""
    return Fact(*(text[0].upper() + text[1:] for text in fact))


# ---- styles of citing: (statement, name) -> sentence; the name comes from the style's own naming

Style = Callable[[str, str], str]
STYLES: dict[str, tuple[bool, Callable[[dict[str, Any], int], str], Style]] = {}
MADE_UP: dict[str, Callable[[random.Random], str]] = {}


def style(
    name: str,
    *,
    held_out: bool,
    naming: Callable[[dict[str, Any], int], str],
    made_up: Callable[[random.Random], str],
    write: Style,
) -> None:
    """Register a style: how it names the n-th passage, how it names what does not exist, how it writes a sentence."""
    STYLES[name] = (held_out, naming, write)
    MADE_UP[name] = made_up


def beyond(rng: random.Random) -> str:
    return str(rng.choice([5, 6, 7, 9, 12, 31]))


style("[n]", held_out=False, naming=lambda p, n: str(n), made_up=beyond, write=lambda s, n: f"{s} [{n}].")
style("after the stop", held_out=False, naming=lambda p, n: str(n), made_up=beyond, write=lambda s, n: f"{s}.[{n}]")
style(
    "[id]",
    held_out=False,
    naming=lambda p, n: p["id"],
    made_up=lambda r: f"{r.choice(PLACES).lower()}-annex-{r.randint(5, 9)}",
    write=lambda s, n: f"{s} [{n}].",
)
style(
    "(URL)",
    held_out=False,
    naming=lambda p, n: p["source"],
    made_up=lambda r: f"https://news.{r.choice(PLACES).lower()}.example/a/{r.randint(1, 99)}",
    write=lambda s, n: f"{s} ({n}).",
)
style(
    "(Author, year)",
    held_out=False,
    naming=lambda p, n: f"{p['metadata']['author']}, {p['metadata']['year']}",
    made_up=lambda r: f"{r.choice(['Quist', 'Zeman', 'Uhlig'])}, {r.randint(1995, 2023)}",
    write=lambda s, n: f"{s} ({n}).",
)
style(
    "footnote",
    held_out=True,
    naming=lambda p, n: f"^{n}",
    made_up=lambda r: "^" + beyond(r),
    write=lambda s, n: f"{s}[{n}].",
)
style(
    "link",
    held_out=True,
    naming=lambda p, n: p["source"].replace("www.", ""),
    made_up=lambda r: f"https://{r.choice(PLACES).lower()}-facts.example",
    write=lambda s, n: f"{s} ([source]({n})).",
)
style(
    "DOI",
    held_out=True,
    naming=lambda p, n: p["metadata"]["doi"],
    made_up=lambda r: f"10.{r.randint(6000, 9000)}/x.{r.randint(10, 99)}",
    write=lambda s, n: f"{s} (doi:{n}).",
)
style(
    "(Source: title)",
    held_out=True,
    naming=lambda p, n: p["metadata"]["title"],
    made_up=lambda r: f"The {r.choice(PLACES)} Gazette",
    write=lambda s, n: f"{s} (Source: {n}).",
)
style(
    "According to",
    held_out=True,
    naming=lambda p, n: str(n),
    made_up=beyond,
    write=lambda s, n: f"According to source [{n}], {s}.",
)
style(
    "list item",
    held_out=True,
    naming=lambda p, n: p["id"],
    made_up=lambda r: f"{r.choice(PLACES).lower()}-copy-{r.randint(5, 9)}",
    write=lambda s, n: f"\n- {s} [{n}]",
)
style(
    "JSON",
    held_out=True,
    naming=lambda p, n: str(n),
    made_up=beyond,
    write=lambda s, n: json.dumps({"text": f"{s}.", "citations": [n]}),
)


# ---- violations


class Draft(NamedTuple):
    """Three statements, each with the names that it cites."""

    rows: list[tuple[str, list[str]]]


def sound(w: World, rng: random.Random, name: Callable[[int], str]) -> Draft:
    """Three facts of different passages, each with its own source."""
    places = rng.sample(range(4), 3)
    return Draft([(rng.choice(w.facts[place]).answer, [name(place)]) for place in places])


def missing_citation(d: Draft, w: World, rng: random.Random, name: Callable[[int], str], bad: str) -> Draft:
    return Draft([(text, []) for text, _ in d.rows])


def uncited_claim(d: Draft, w: World, rng: random.Random, name: Callable[[int], str], bad: str) -> Draft:
    place = rng.randrange(3)
    return Draft([(text, [] if n == place else names) for n, (text, names) in enumerate(d.rows)])


def nonexistent_source(d: Draft, w: World, rng: random.Random, name: Callable[[int], str], bad: str) -> Draft:
    place = rng.randrange(3)
    return Draft([(text, [bad] if n == place else names) for n, (text, names) in enumerate(d.rows)])


def wrong_source(d: Draft, w: World, rng: random.Random, name: Callable[[int], str], bad: str) -> Draft:
    """A true statement under the name of another passage, about the same building or the other one."""
    place = rng.randrange(3)
    text, names = d.rows[place]
    other = rng.choice([name(n) for n in range(4) if name(n) != names[0]])
    return Draft([*d.rows[:place], (text, [other]), *d.rows[place + 1 :]])


def wrong_value(d: Draft, w: World, rng: random.Random, name: Callable[[int], str], bad: str) -> Draft:
    place = rng.randrange(3)
    text, names = d.rows[place]
    changed = next(fact.changed for facts in w.facts for fact in facts if fact.answer == text)
    return Draft([*d.rows[:place], (changed, names), *d.rows[place + 1 :]])


def false_quotation(d: Draft, w: World, rng: random.Random, name: Callable[[int], str], bad: str) -> Draft:
    place = rng.randrange(4)
    critic, words, it = w.quotes[place]
    old = rng.choice([word for word in words.split() if len(word) > 3])
    return Draft([*d.rows[:2], (f'{critic} called {it} "{words.replace(old, "solemn", 1)}"', [name(place)])])


def true_quotation(d: Draft, w: World, rng: random.Random, name: Callable[[int], str]) -> Draft:
    place = rng.randrange(4)
    critic, words, it = w.quotes[place]
    return Draft([*d.rows[:2], (f'{critic} called {it} "{words}"', [name(place)])])


PLANTS = {
    missing_citation: "missing_citation",
    uncited_claim: "uncited_claim",
    nonexistent_source: "nonexistent_source",
    wrong_source: "non_entailing",
    wrong_value: "non_entailing",
    false_quotation: "misquoted",
}
DECOYS = (
    "{0}\n\n```python\nrows[0] = table[7]\n```",
    "{0} Is `rows[9]` what you meant?",
    "{0} Would you like to know more?",
    "Hello! {0}",
    "## Answer\n\n{0}",
    "{0}\n\n- [ ] Do you need more?",
)


def written(draft: Draft, chosen: str) -> str:
    """The draft in a style."""
    write = STYLES[chosen][2]
    if chosen == "JSON":
        return json.dumps([{"text": f"{text}.", "citations": names} for text, names in draft.rows], ensure_ascii=False)
    parts = [write(text, names[0]) if names else bare(text, chosen) for text, names in draft.rows]
    return "\n".join(parts).strip() if chosen == "list item" else " ".join(parts)


def bare(text: str, chosen: str) -> str:
    """A statement without a citation."""
    return f"\n- {text}" if chosen == "list item" else f"{text}."


def cases(per_template: int, seed: int, *, late: bool = False) -> Iterator[Case]:
    """Every style with every violation and as many sound answers; if `late`, held-out styles over the last facts."""
    for chosen, (held_out, naming, _) in STYLES.items():
        if late and not held_out:
            continue
        facts = LATE_FACTS if late else HELD_OUT_FACTS if held_out else SEEN_FACTS
        for plant, violation in [*PLANTS.items(), (None, "")]:
            rng = random.Random(f"{seed}/{chosen}/{plant.__name__ if plant else ''}")
            for turn in range(per_template if plant else per_template * len(PLANTS)):
                w = world(rng, facts)

                def name(place: int, w: World = w, naming: Any = naming) -> str:
                    return str(naming(w.passages[place], place + 1))

                draft = sound(w, rng, name)
                if plant:
                    draft = plant(draft, w, rng, name, MADE_UP[chosen](rng))
                elif turn % 3 == 0:
                    draft = true_quotation(draft, w, rng, name)
                text = written(draft, chosen)
                if not plant and turn % 3 == 1 and chosen != "JSON":
                    text = DECOYS[turn // 3 % len(DECOYS)].format(text)
                label = f"{plant.__name__ if plant else 'sound'} / {chosen}"
                yield Case(text, w.passages, violation, label, held_out)


async def findings_of(guard: Guard, found: list[Case]) -> list[set[str]]:
    """The violations that the check reports for each case."""
    out = []
    for case in found:
        report = await guard.check(case.answer, evidence=case.evidence)
        if report.status == "unverified":
            raise SystemExit(f"a case could not be verified: {report.reason}\n{case.answer}")
        out.append({str(finding.violation) for finding in report.findings})
    return out


class Tally(NamedTuple):
    """Counts of one group of cases."""

    planted: int
    found: int
    only: int
    clean: int
    false_alarms: int

    def row(self, name: str) -> list[str]:
        """The counts as a row of the table."""
        return [
            name,
            str(self.planted),
            share(self.found, self.planted),
            share(self.only, self.planted),
            str(self.clean),
            share(self.false_alarms, self.clean),
        ]


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def tally(found: list[Case], seen: list[set[str]]) -> Tally:
    """Counts over some cases."""
    planted = [(case, names) for case, names in zip(found, seen, strict=True) if case.planted]
    clean = [names for case, names in zip(found, seen, strict=True) if not case.planted]
    return Tally(
        len(planted),
        sum(case.planted in names for case, names in planted),
        sum({case.planted} == names for case, names in planted),
        len(clean),
        sum(bool(names) for names in clean),
    )


def hand_written() -> list[Case]:
    """The cases written by hand."""
    rows = [json.loads(line) for line in HAND_WRITTEN.read_text(encoding="utf-8").splitlines()]
    return [Case(row["answer"], row["evidence"], row["planted"], "hand", True) for row in rows]


def main() -> None:
    """Measure, print JSON, write the table."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from benchmarks.tables import publish

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", type=Path, help="write the figures and the wrong cases that may be looked at")
    options.add_argument("--show", choices=["seen"], help="print the wrong cases of the seen templates")
    given = options.parse_args()
    guard = Guard({"checks": ["citations"]})
    started = time.perf_counter()
    made, late, hand = list(cases(PER_TEMPLATE, SEED)), list(cases(LATE_PER_TEMPLATE, SEED, late=True)), hand_written()
    seen, of_late, by_hand = (asyncio.run(findings_of(guard, some)) for some in (made, late, hand))
    pairs = list(zip(made, seen, strict=True))

    def of(wanted: Callable[[Case], bool]) -> Tally:
        chosen = [(case, names) for case, names in pairs if wanted(case)]
        return tally([case for case, _ in chosen], [names for _, names in chosen])

    rows = [["cases", "planted", "found", "only", "sound", "false alarms"]]
    rows.append(of(lambda c: not c.is_held_out).row("generated, templates seen"))
    rows.append(of(lambda c: c.is_held_out).row("generated, templates held out"))
    for plant in PLANTS:
        rows.append(
            of(lambda c, p=plant: c.template.startswith(p.__name__) and c.is_held_out).row(
                f"held out: {plant.__name__.replace('_', ' ')}"
            )
        )  # type: ignore[misc]
    rows.append(tally(late, of_late).row("generated, facts written last"))
    rows.append(tally(hand, by_hand).row("written by hand"))
    wrong = [
        {"template": case.template, "answer": case.answer, "found": sorted(names), "planted": case.planted}
        for case, names in pairs
        if not case.is_held_out and names != ({case.planted} if case.planted else set())
    ]
    styles: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for case, names in pairs:
        right = styles[case.template.split(" / ")[1]]
        right[0] += 1
        right[1] += names == ({case.planted} if case.planted else set())
    data = {
        "table": rows,
        "right_by_style": {name: f"{right}/{total}" for name, (total, right) in styles.items()},
        "seconds": round(time.perf_counter() - started, 1),
    }
    publish("citations", rows, data)
    if given.show:
        print(json.dumps(wrong, indent=1, ensure_ascii=False), file=sys.stderr)
    if given.json:
        given.json.write_text(json.dumps({**data, "wrong_seen": wrong}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
