"""What made documents tell (see `documents`): kinds of facts, their wordings, and the values of their slots."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of fact. Templates name their slots in braces; "a|b" in a template stands for either."""

    slots: Mapping[str, str]
    """Slot to the name of its values, see `VALUES`. The slot `x` says what the fact is about."""
    says: tuple[str, ...]
    """Wordings that say the same."""
    weaker: tuple[str, ...] = ()
    """What follows from it."""
    denies: tuple[str, ...] = ()
    """What cannot be true beside it."""
    beyond: tuple[str, ...] = ()
    """What it leaves open."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("/"))


WORDS: dict[str, tuple[str, ...]] = {
    "place": _words("Halvik/Porto Sera/Lindau/Marbeck/Tolmin/Ashford/Kerava/Sonoma Bay/Drumlin/Velden/Osmark/Riga"),
    "person": _words(
        "Ines Falk/Tomas Berg/Rita Okafor/Paul Lindgren/Mei Tanaka/Omar Haddad/Clara Voss/Ivan Petrov/Lucy Grant/"
        "Diego Ramos/Hanna Kivi/Samuel Osei/Priya Nair/Marc Dubois/Elena Rossi/Jonas Weber/Aisha Khan/Peter Novak"
    ),
    "firm": _words(
        "Orbane/Telmar/Kestrel Foods/Nordlys/Quintara/Bravia Motors/Solvent AG/Pinehill/Arcadia Systems/Fenwick Steel/"
        "Lumio/Vantis/Harrow & Sons/Cobalt Air/Meridian Bank/Oakline"
    ),
    "drug": _words("Norvasin/Teltrax/Belomil/Ferrodan/Cortival/Luminex/Patrizol/Zendrin/Optavir/Calmexa"),
    "fare": _words(
        "an adult ticket/a child ticket/a family ticket/a student ticket/a day pass/a monthly pass/a sleeping berth/"
        "a return ticket/a group ticket/a senior ticket"
    ),
    "item": _words(
        "bicycles/dogs/prams/skis/musical instruments/wheelchairs/surfboards/hand luggage/pets/folding bikes/"
        "sports equipment/camping gear"
    ),
    "goods": _words(
        "gift cards/sale items/custom orders/opened software/books/furniture/electronics/shoes/spare parts/"
        "digital downloads/perishable goods/mattresses"
    ),
    "group": _words(
        "members/students/guests/employees/part-time staff/contractors/tenants/visitors/pensioners/new customers/"
        "interns/managers/residents/subscribers"
    ),
    "benefit": _words(
        "the car park/the gym/the sauna/the archive/the roof terrace/the company bikes/the reading room/the lounge/"
        "the pool/the laboratory/the staff canteen/the network drive"
    ),
    "measure": _words(
        "revenue/profit/turnover/net income/the order book/debt/headcount/output/exports/operating costs"
    ),
    "effect": _words(
        "headache/nausea/dizziness/a dry mouth/a skin rash/tiredness/back pain/a cough/fever/stomach ache"
    ),
    "object": _words(
        "the tower/the bridge/the old mill/the church/the lighthouse/the station/the town hall/the museum/the dam/"
        "the north gate/the theatre/the harbour wall"
    ),
    "vehicle": _words("ferry/bus/train/tram/shuttle/night train/cable car/airport bus"),
    "day": _words("Mondays/Tuesdays/Wednesdays/Thursdays/Fridays/Saturdays/Sundays/public holidays"),
    "feature": _words(
        "dark mode/offline access/single sign-on/file sharing/the mobile app/automatic backup/the search/voice control/"
        "two-factor login/the calendar/screen sharing/the export to PDF"
    ),
    "plan": _words("the free plan/the basic plan/the team plan/the business plan/the premium plan/the trial version"),
    "subject": _words("law/medicine/physics/history/economics/architecture/music/biology/mathematics/philosophy"),
    "job": _words(
        "teacher/nurse/journalist/engineer/translator/librarian/judge/pilot/chef/surveyor/lecturer/carpenter"
    ),
    "team": _words("Rovers/United/the Falcons/the Blues/City/the Wolves/Athletic/the Harriers/Rangers/the Comets"),
    "motion": _words(
        "the new bypass/the school extension/the parking fee/the market hall/the cycle lane/the library budget/"
        "the noise rule/the swimming pool"
    ),
    "metal": _words("copper/zinc/brass/aluminium/steel/silver/tin/bronze"),
    "colour": _words("red/blue/green/grey/white/black/yellow/orange"),
    "ingredient": _words("flour/sugar/butter/milk/rice/cream/honey/olive oil/yeast/almonds"),
    "month": _words("January/February/March/April/May/June/July/August/September/October/November/December"),
}


def _money(rng: random.Random) -> str:
    amount = rng.choice((rng.randint(2, 99), rng.randint(1, 40) * 5, rng.randint(1, 30) * 50))
    return rng.choice((f"{amount} euros", f"${amount}", f"£{amount}", f"{amount} crowns"))


CURRENCIES = ("euros", "dollars", "crowns")
PERCENT = (" %", "%", " percent", " per cent")
DAYS = (2, 3, 5, 7, 10, 14, 20, 21, 28, 30, 45, 60, 90)
MINUTES = ("00", "05", "10", "15", "20", "25", "30", "40", "45", "50")
NUMBERS: dict[str, Callable[[random.Random], str]] = {
    "money": _money,
    "millions": lambda rng: f"{rng.randint(3, 900)} million {rng.choice(CURRENCIES)}",
    "percent": lambda rng: f"{rng.randint(2, 95)}{rng.choice(PERCENT)}",
    "days": lambda rng: f"{rng.choice(DAYS)} {rng.choice(('days', 'working days'))}",
    "months": lambda rng: f"{rng.choice((2, 3, 4, 6, 9, 12, 18, 24, 36))} months",
    "minutes": lambda rng: f"{rng.randint(2, 28) * 5} minutes",
    "year": lambda rng: str(rng.randint(1840, 2024)),
    "metres": lambda rng: f"{rng.randint(6, 480)} metres",
    "mg": lambda rng: f"{rng.choice((5, 10, 15, 20, 25, 40, 50, 60, 75, 80, 100, 120, 150, 200, 300))} mg",
    "age": lambda rng: str(rng.choice((6, 8, 10, 12, 14, 15, 16, 18, 21))),
    "grams": lambda rng: f"{rng.randint(2, 40) * 25} g",
    "degrees": lambda rng: f"{rng.choice((4, 8, 15, 20, 25, 30, 40, 60, 95, 120, 160, 180, 200, 220))} °C",
    "time": lambda rng: f"{rng.randint(5, 22)}:{rng.choice(MINUTES)}",
    "gigabytes": lambda rng: f"{rng.choice((2, 5, 10, 15, 20, 50, 100, 200, 500))} GB",
    "count": lambda rng: str(rng.choice((rng.randint(11, 99), rng.randint(100, 990), rng.randint(2, 60) * 100))),
    "score": lambda rng: f"{rng.randint(1, 5)}-0",
}  # fmt: skip

KINDS: dict[str, Kind] = {
    "price": Kind(
        {"x": "fare", "v": "money"},
        ("{X} costs {v}.", "The price of {x} is {v}.", "{v} is what {x} costs.", "You pay {v} for {x}.",
         "{X} is sold for {v}."),
        ("{X} has a price.", "{X} is not free."),
        ("{X} is free of charge.", "There is no charge for {x}."),
        ("{X} can be bought online.", "{X} used to cost less."),
    ),
    "carried": Kind(
        {"x": "item"},
        ("{X} travel|go free of charge.", "There is no charge for {x}.", "{X} are carried at no extra cost.",
         "You do not have to pay for {x}.", "{X} cost nothing."),
        ("You can take {x} with you.", "{X} are allowed on board."),
        ("{X} cost {v:money}.", "There is a fee for {x}.", "{X} are not allowed on board.", "You have to pay for {x}."),
        ("{X} must be booked in advance.", "Most passengers bring {x}."),
    ),
    "banned": Kind(
        {"x": "item"},
        ("{X} are not allowed on board.", "{X} must stay at home.", "It is forbidden to bring {x}.",
         "You cannot take {x} with you.", "{X} are not accepted|carried."),
        (),
        ("{X} are welcome.", "You may bring {x}.", "{X} travel free of charge.", "{X} are allowed on board."),
        ("{X} were allowed until last year.",),
    ),
    "returned": Kind(
        {"x": "goods", "v": "days"},
        ("{X} can be returned within {v}.", "You have {v} to send {x} back.", "For {x}, returns are accepted for {v}.",
         "The return period for {x} is {v}."),
        ("{X} can be returned.", "It is possible to send {x} back."),
        ("{X} cannot be returned.", "Returns of {x} are not accepted.", "{X} are excluded from returns."),
        ("Sending {x} back is free of charge.", "Customers pay for the postage when they return {x}."),
    ),
    "final": Kind(
        {"x": "goods"},
        ("{X} cannot be returned.", "{X} are not refundable.", "There is no refund for {x}.",
         "We do not take back {x}.", "{X} are excluded from returns."),
        ("Buyers of {x} do not get their money back.",),
        ("{X} can be returned within {v:days}.", "{X} are refundable.", "You get your money back for {x}.",
         "{X} can be sent back."),
        ("{X} are sold online only.", "{X} come with a warranty."),
    ),
    "may": Kind(
        {"x": "group", "y": "benefit"},
        ("{X} may use {y}.", "{Y} is|are open to {x}.", "{X} are allowed to use {y}.", "{X} have access to {y}.",
         "The use of {y} is permitted for {x}."),
        (),
        ("{X} may not use {y}.", "{Y} is|are closed to {x}.", "{X} are not allowed to use {y}.",
         "{X} have no access to {y}."),
        ("{X} pay a fee to use {y}.", "Many {x} use {y}.", "{X} may bring a friend to {y}."),
    ),
    "may not": Kind(
        {"x": "group", "y": "benefit"},
        ("{X} may not use {y}.", "{Y} is|are not open to {x}.", "{X} are not allowed to use {y}.",
         "{X} are forbidden to use {y}.", "{X} have no access to {y}."),
        (),
        ("{X} may use {y}.", "{Y} is|are open to {x}.", "{X} have access to {y}.", "{X} can use {y}."),
        ("{X} complained about {y}.",),
    ),
    "must": Kind(
        {"x": "group", "v": "days"},
        ("{X} must give notice {v} in advance.", "The notice period for {x} is {v}.",
         "{X} have to give {v} notice.", "{V} notice is required from {x}."),
        ("{X} must give notice.",),
        ("{X} do not have to give notice.", "{X} can leave without notice."),
        ("{X} must give notice in writing.",),
    ),
    "leave": Kind(
        {"x": "group", "v": "days"},
        ("{X} get {v} of paid leave a year.", "{X} are entitled to {v} of paid leave each year.",
         "Each year, {x} have {v} of paid holiday.", "The annual leave of {x} is {v}."),
        ("{X} get paid leave.",),
        ("{X} get no paid leave.", "{X} are not entitled to paid leave."),
        ("{X} can carry leave over to the next year.",),
    ),
    "rose": Kind(
        {"x": "measure", "v": "percent"},
        ("{X} rose by {v}.", "{X} grew|increased|climbed {v}.", "{X} went up by {v}.", "There was a {v} rise in {x}."),
        ("{X} rose|grew|increased.", "{X} was|were higher than the year before.", "{X} went up."),
        ("{X} fell|dropped|declined by {v}.", "{X} fell.", "{X} went down.", "{X} was|were lower than the year before.",
         "{X} did not change."),
        ("{X} will rise again next year.", "{X} rose more than expected."),
    ),
    "fell": Kind(
        {"x": "measure", "v": "percent"},
        ("{X} fell by {v}.", "{X} dropped|declined|decreased {v}.", "{X} went down by {v}.",
         "There was a {v} fall|drop in {x}."),
        ("{X} fell|dropped|declined.", "{X} was|were lower than the year before.", "{X} went down."),
        ("{X} rose|grew|increased by {v}.", "{X} rose.", "{X} went up.", "{X} was|were higher than the year before.",
         "{X} did not change."),
        ("{X} fell because of higher wages.",),
    ),
    "from to": Kind(
        {"x": "measure", "v": "millions", "w": "millions"},
        ("{X} went from {v} to {w}.", "{X} was|were {w}, after {v} the year before.",
         "After {v} in the previous year, {x} came to {w}."),
        ("{X} was|were {w}.", "{X} amounted to {w}.", "The year before, {x} had been {v}."),
        ("{X} was|were {v}.", "{X} amounted to {v}.", "The year before, {x} had been {w}."),
        (),
    ),
    "founded": Kind(
        {"x": "firm", "p": "person", "v": "year", "c": "place"},
        ("{X} was founded by {p} in {c} in {v}.", "In {v}, {p} founded {x} in {c}.",
         "{P} set up {x} in {c} in {v}.", "{X} was started in {v} by {p} in {c}."),
        ("{X} was founded by {p}.", "{P} founded {x}.", "{X} was founded in {v}.", "{P} is the founder of {x}.",
         "{X} has its origins in {c}."),
        (),
        ("{P} still owns {x}.", "{P} was born in {c}."),
    ),
    "leads": Kind(
        {"x": "firm", "p": "person", "v": "year"},
        ("{P} has been chief executive of {x} since {v}.", "{P} has led {x} as chief executive since {v}.",
         "Since {v}, the chief executive of {x} has been {p}.", "{P} became chief executive of {x} in {v}."),
        ("{P} is the CEO of {x}.", "{P} runs {x}.", "{P} took over as CEO of {x} in {v}."),
        ("{P} left {x} in {v}.", "{P} has never worked for {x}."),
        ("{P} is a shareholder of {x}.",),
    ),
    "bought": Kind(
        {"x": "firm", "y": "firm", "v": "millions"},
        ("{X} bought {y} for {v}.", "{Y} was bought by {x} for {v}.", "{X} paid {v} for {y}.",
         "{X} acquired {y} at a price of {v}.", "{X} took over {y} for {v}."),
        ("{X} acquired {y}.", "{Y} was taken over by {x}.", "{Y} now belongs to {x}."),
        ("{Y} bought {x}.", "{Y} acquired {x} for {v}.", "{X} sold {y}.", "{X} was taken over by {y}."),
        ("{X} will close the offices of {y}.",),
    ),
    "beat": Kind(
        {"x": "team", "y": "team", "v": "score", "c": "place"},
        ("{X} beat {y} {v} in {c}.", "{Y} lost {v} to {x} in {c}.", "In {c}, {x} won {v} against {y}.",
         "{X} defeated {y} {v} in {c}."),
        ("{X} beat {y}.", "{X} won against {y}.", "{Y} lost to {x}.", "{Y} were beaten by {x}."),
        ("{Y} beat {x}.", "{X} lost to {y}.", "{Y} won against {x}.", "{X} and {y} drew."),
        ("{X} will meet {y} again.",),
    ),
    "dose": Kind(
        {"x": "drug", "v": "mg", "w": "mg"},
        ("The usual dose of {x} is {v}; the highest is {w} a day.",
         "{X} is normally given at {v}, and never at more than {w} a day.",
         "Patients usually take {v} of {x}; they must not take more than {w} a day."),
        ("The usual dose of {x} is {v}.", "No more than {w} of {x} may be taken a day.",
         "The maximum daily dose of {x} is {w}.", "Do not take more than {w} of {x} per day."),
        ("The usual dose of {x} is {w}.", "The maximum daily dose of {x} is {v}.", "There is no maximum for {x}."),
        ("{X} is taken for two weeks.",),
    ),
    "with food": Kind(
        {"x": "drug"},
        ("{X} is taken with food.", "Take {x} with a meal.", "{X} should be taken with meals.",
         "{X} must be taken together with food."),
        (),
        ("{X} is taken on an empty stomach.", "Take {x} before you eat.", "{X} must not be taken with food."),
        ("{X} is taken with a glass of water.",),
    ),
    "twice": Kind(
        {"x": "drug"},
        ("{X} is taken twice a day.", "Take {x} two times daily.", "{X} is given two times a day.",
         "Patients take {x} twice daily."),
        ("{X} is taken every day.", "{X} is taken more than once a day."),
        ("{X} is taken once a day.", "Take {x} three times daily.", "{X} is taken once a week."),
        ("{X} is taken for ten days.",),
    ),
    "not under": Kind(
        {"x": "drug", "v": "age"},
        ("{X} must not be given to children under {v}.", "Children under {v} must not take {x}.",
         "{X} is not for children below the age of {v}.", "{X} may only be taken by people aged {v} or over."),
        ("There is an age limit for {x}.", "Small children must not take {x}."),
        ("{X} is safe for children of all ages.", "Children under {v} may take {x}.",
         "{X} has no age limit."),
        ("{X} has been tested on children.",),
    ),
    "effect": Kind(
        {"x": "drug", "y": "effect"},
        ("{X} can cause {y}.", "A possible side effect of {x} is {y}.", "Some people get {y} from {x}.",
         "{Y} may occur with {x}."),
        ("{X} has side effects.",),
        ("{X} has no side effects.", "{X} never causes {y}."),
        ("{X} helps against {y}.", "{Y} goes away after two days."),
    ),
    "tall": Kind(
        {"x": "object", "v": "metres"},
        ("{X} is {v} high.", "{X} has a height of {v}.", "{X} rises to {v}.", "The height of {x} is {v}."),
        (), (), ("{X} is open to visitors.", "{X} was restored lately."),
    ),
    "built": Kind(
        {"x": "object", "v": "year", "p": "person"},
        ("{X} was built by {p} in {v}.", "{P} built {x} in {v}.", "In {v}, {p} built {x}.",
         "{X} dates from {v} and is the work of {p}."),
        ("{X} was built in {v}.", "{P} built {x}.", "{X} is the work of {p}.", "{X} was completed in {v}."),
        ("{X} was torn down in {v}.", "{X} was never finished."),
        ("{P} was paid well for {x}.", "{X} is the tallest of its kind."),
    ),
    "runs": Kind(
        {"x": "vehicle", "v": "minutes", "c": "place", "d": "place"},
        ("The {x} from {c} to {d} takes {v}.", "It takes {v} from {c} to {d} by {x}.",
         "The journey from {c} to {d} by {x} lasts {v}.", "By {x}, {d} is {v} from {c}."),
        ("There is a {x} from {c} to {d}.", "You can travel from {c} to {d} by {x}."),
        ("There is no {x} from {c} to {d}.",),
        ("The {x} from {c} to {d} is often late.",),
    ),
    "no service": Kind(
        {"x": "vehicle", "y": "day"},
        ("There is no {x} on {y}.", "The {x} does not run on {y}.", "On {y}, there is no {x}.",
         "No {x} runs on {y}."),
        ("You cannot take the {x} on {y}.",),
        ("The {x} runs on {y}.", "On {y}, you can take the {x}.", "There is a {x} on {y}."),
        ("The {x} is full on most days.",),
    ),
    "departs": Kind(
        {"x": "vehicle", "v": "time", "w": "time"},
        ("The first {x} leaves at {v} and the last one at {w}.", "The {x} runs from {v} to {w}.",
         "The last {x} leaves at {w}, the first at {v}."),
        ("The first {x} leaves at {v}.", "The last {x} leaves at {w}.", "The last {x} departs at {w}.",
         "The {x} starts at {v}."),
        ("The first {x} leaves at {w}.", "The last {x} leaves at {v}."),
        ("The {x} at {v} is crowded.",),
    ),
    "includes": Kind(
        {"x": "plan", "y": "feature"},
        ("{X} includes {y}.", "{Y} is|are part of {x}.", "{X} comes with {y}.", "With {x} you get {y}."),
        (),
        ("{X} does not include {y}.", "{X} comes without {y}.", "{Y} is|are not part of {x}."),
        ("{X} will soon cost more.", "Most users of {x} never use {y}."),
    ),
    "excludes": Kind(
        {"x": "plan", "y": "feature"},
        ("{X} does not include {y}.", "{X} comes without {y}.", "{Y} is|are not part of {x}.",
         "{X} lacks {y}."),
        ("You do not get {y} with {x}.",),
        ("{X} includes {y}.", "{X} comes with {y}.", "With {x} you get {y}."),
        ("{Y} will be added to {x} next year.",),
    ),
    "storage": Kind(
        {"x": "plan", "v": "gigabytes", "w": "money"},
        ("{X} offers {v} of storage for {w} a month.", "For {w} a month, {x} gives you {v} of storage.",
         "{X} costs {w} a month and has {v} of storage."),
        ("{X} has {v} of storage.", "{X} costs {w} a month.", "Users of {x} can store {v}."),
        ("{X} is free of charge.", "{X} has unlimited storage."),
        ("{X} is the most popular one.",),
    ),
    "studied": Kind(
        {"x": "person", "y": "subject", "c": "place"},
        ("{X} studied {y} in {c}.", "In {c}, {x} studied {y}.", "{X} has a degree in {y} from {c}.",
         "{X} read {y} at the University of {c}."),
        ("{X} studied {y}.", "{X} studied in {c}.", "{X} went to university."),
        ("{X} never went to university.",),
        ("{X} was born in {c}.", "{X} taught {y}."),
    ),
    "worked": Kind(
        {"x": "person", "y": "job", "c": "place"},
        ("{X} worked as a {y} in {c}.", "In {c}, {x} worked as a {y}.", "{X} was a {y} in {c}.",
         "{X} had a job as a {y} in {c}."),
        ("{X} worked in {c}.", "{X} was a {y}.", "{X} once had a job as a {y}."),
        ("{X} never worked.",),
        ("{X} retired in {c}.", "{X} was a good {y}."),
    ),
    "vote": Kind(
        {"x": "motion", "v": "count", "w": "count"},
        ("The council approved {x} by {v} votes to {w}.", "{X} was approved by the council, {v} votes to {w}.",
         "With {v} votes for and {w} against, the council passed {x}."),
        ("The council approved {x}.", "{V} voted for {x}.", "{W} voted against {x}.", "{X} was passed."),
        ("The council rejected {x}.", "{X} was voted down.", "{W} voted for {x}.", "{V} voted against {x}."),
        ("The mayor voted for {x}.",),
    ),
    "rejected": Kind(
        {"x": "motion"},
        ("The council rejected {x}.", "{X} was turned down by the council.", "{X} found no majority in the council.",
         "The council voted against {x}."),
        ("{X} was not approved.",),
        ("The council approved {x}.", "{X} was passed.", "The council voted for {x}."),
        ("{X} will be discussed again in {m:month}.",),
    ),
    "made of": Kind(
        {"x": "object", "y": "metal"},
        ("The roof of {x} is made of {y}.", "{X} has a roof of {y}.", "{Y} was used for the roof of {x}."),
        (), (), ("The roof of {x} leaks.",),
    ),
    "painted": Kind(
        {"x": "object", "y": "colour"},
        ("{X} is painted {y}.", "{X} is {y}.", "The walls of {x} are {y}."),
        (), (), ("{X} will be painted again in {m:month}.",),
    ),
    "recipe": Kind(
        {"x": "ingredient", "v": "grams"},
        ("You need {v} of {x}.", "Use {v} of {x}.", "The recipe takes {v} of {x}.", "Add {v} of {x}."),
        ("{X} is|are used.", "The recipe contains {x}."),
        ("The recipe contains no {x}.",),
        ("The {x} should be organic.",),
    ),
    "kept": Kind(
        {"x": "drug", "v": "degrees"},
        ("Keep {x} below {v}.", "{X} must be stored at less than {v}.", "Do not store {x} above {v}.",
         "{X} is kept at temperatures under {v}."),
        ("There is a temperature limit for {x}.",),
        ("{X} can be stored at any temperature.",),
        ("{X} must be kept dry.",),
    ),
    "warranty": Kind(
        {"x": "goods", "v": "months"},
        ("The warranty on {x} lasts {v}.", "{X} have a warranty of {v}.", "For {x} there is a warranty of {v}.",
         "{X} come with {v} of warranty."),
        ("{X} have a warranty.", "There is a warranty on {x}."),
        ("{X} have no warranty.", "There is no warranty on {x}."),
        ("The warranty on {x} can be extended.",),
    ),
    "opens": Kind(
        {"x": "benefit", "v": "time", "w": "time"},
        ("{X} is|are open from {v} to {w}.", "{X} opens at {v} and closes at {w}.",
         "Opening hours of {x}: {v} to {w}."),
        ("{X} opens at {v}.", "{X} closes at {w}.", "You can use {x} until {w}."),
        ("{X} opens at {w}.", "{X} closes at {v}.", "{X} is|are open day and night."),
        ("{X} is|are busiest before noon.",),
    ),
}  # fmt: skip
SETTINGS: tuple[tuple[str, ...], ...] = (
    ("price", "carried", "banned", "runs", "no service", "departs"),
    ("returned", "final", "warranty"),
    ("may", "may not", "must", "leave", "opens"),
    ("rose", "fell", "from to", "founded", "leads", "bought"),
    ("dose", "with food", "twice", "not under", "effect", "kept"),
    ("tall", "built", "made of", "painted"),
    ("includes", "excludes", "storage"),
    ("studied", "worked", "leads", "founded"),
    ("vote", "rejected", "beat"),
    ("recipe", "kept"),
)
"""Kinds that stand in one document."""
