"""Generated answers with and without one planted logical error, for `benchmarks/logic.py`.

Shares no code and no word list with `evidencerails.checks.logic`. Each template makes a pair from the same numbers: a
right statement and a wrong one. Half of the templates are held out: the check was never run on them while it was
written.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import NamedTuple


class Case(NamedTuple):
    """One answer."""

    text: str
    is_wrong: bool
    template: str
    is_held_out: bool


Made = tuple[str, str]
"""A right and a wrong text."""
TEMPLATES: dict[str, tuple[bool, Callable[[random.Random], Made]]] = {}


def template(*, held_out: bool) -> Callable[[Callable[[random.Random], Made]], Callable[[random.Random], Made]]:
    """Register a template."""

    def add(make: Callable[[random.Random], Made]) -> Callable[[random.Random], Made]:
        TEMPLATES[make.__name__] = (held_out, make)
        return make

    return add


def off(value: int, rng: random.Random) -> int:
    """Another number, not far from it."""
    return value + rng.choice([-10, -3, -2, -1, 1, 2, 3, 10])


THINGS = ["crates", "tickets", "chairs", "pages", "bottles", "seeds", "bolts", "tiles"]
PLACES = ["Aldona", "Brevik", "Corran", "Dunmere", "Estoril", "Farrow", "Gantry", "Hollin"]
PEOPLE = ["Irma", "Jorge", "Keita", "Lena", "Milos", "Nadia", "Otto", "Priya"]
OPENERS = ["Sure. ", "Here is the working: ", "Good question! ", "", "Let us see. ", "As a check, "]
CLOSERS = ["", " Let me know if you need more.", " That is all.", " I hope this helps you plan."]


@template(held_out=False)
def product_of_signs(rng: random.Random) -> Made:
    a, b = rng.randint(3, 99), rng.randint(3, 99)
    sign = rng.choice(["*", "×", "x"])
    return f"{a} {sign} {b} = {a * b}.", f"{a} {sign} {b} = {off(a * b, rng)}."


@template(held_out=True)
def chain_of_signs(rng: random.Random) -> Made:
    a, b, c = (rng.randint(2, 60) for _ in range(3))
    text = f"We get {a} + {b} × {c} = "
    return f"{text}{a + b * c}.", f"{text}{(a + b) * c if c > 1 and a else off(a + b * c, rng)}."


@template(held_out=False)
def sum_in_words(rng: random.Random) -> Made:
    numbers = [rng.randint(2, 400) for _ in range(3)]
    head = f"The sum of {numbers[0]}, {numbers[1]} and {numbers[2]} is "
    return f"{head}{sum(numbers)}.", f"{head}{off(sum(numbers), rng)}."


@template(held_out=True)
def things_together(rng: random.Random) -> Made:
    a, b, thing = rng.randint(5, 300), rng.randint(5, 300), rng.choice(THINGS)
    head = f"That makes {a} {thing} plus {b} {thing}, and {a} {thing} + {b} {thing} = "
    return f"{head}{a + b} {thing}.", f"{head}{off(a + b, rng)} {thing}."


@template(held_out=False)
def money_each(rng: random.Random) -> Made:
    cents, count = rng.randint(199, 4999), rng.randint(2, 12)
    head = f"{count} tickets at ${cents / 100:.2f} come to {count} × ${cents / 100:.2f} = $"
    return f"{head}{cents * count / 100:.2f}.", f"{head}{(cents * count + rng.choice([-10, 10, 100])) / 100:.2f}."


@template(held_out=True)
def shared_out(rng: random.Random) -> Made:
    b, share = rng.randint(3, 30), rng.randint(4, 60)
    head = f"Sharing the stock, {b * share} divided by {b} equals "
    return f"{head}{share}.", f"{head}{off(share, rng)}."


@template(held_out=False)
def percent_of(rng: random.Random) -> Made:
    p, base = rng.choice([5, 10, 12, 15, 20, 25, 30, 40, 75]), rng.randint(2, 60) * 20
    head = f"{p}% of {base} is "
    right = p * base / 100
    return f"{head}{right:g}.", f"{head}{right + rng.choice([-3, -2, 2, 3, 5]):g}."


@template(held_out=True)
def risen_by(rng: random.Random) -> Made:
    old = rng.choice([20, 25, 40, 50, 80, 120, 160, 200, 400])
    percent = rng.choice([10, 20, 25, 40, 50, 75])
    head = f"Visits to {rng.choice(PLACES)} increased from {old} to {old * (100 + percent) / 100:g}, an increase of "
    wrong = percent + rng.choice([-5, 5, 8, 15])
    return f"{head}{percent}%.", f"{head}{wrong}%."


@template(held_out=False)
def share_in_brackets(rng: random.Random) -> Made:
    whole = rng.choice([20, 40, 50, 80, 120, 200, 250])
    percent = rng.choice([10, 20, 30, 45, 55, 60, 70, 80])
    part = whole * percent // 100
    percent = round(100 * part / whole)
    head = f"{part} out of {whole} people ("
    tail = ") came back."
    return f"{head}{100 * part / whole:g}%{tail}", f"{head}{percent + rng.choice([-9, -4, 4, 9])}%{tail}"


@template(held_out=True)
def reduced_price(rng: random.Random) -> Made:
    price, percent = rng.randint(2, 30) * 20, rng.choice([5, 10, 15, 20, 25, 30])
    head = f"With the voucher, {percent}% off ${price} is $"
    right = price * (100 - percent) / 100
    return f"{head}{right:g}.", f"{head}{right + rng.choice([-8, -4, 4, 8]):g}."


@template(held_out=False)
def mean_value(rng: random.Random) -> Made:
    numbers = [rng.randint(1, 50) * 3 for _ in range(3)]
    head = f"The average of {numbers[0]}, {numbers[1]} and {numbers[2]} is "
    right = sum(numbers) // 3
    return f"{head}{right}.", f"{head}{off(right, rng)}."


def day_of(rng: random.Random) -> datetime.date:
    """Any day of the last hundred years or so."""
    return datetime.date(1930, 1, 1) + datetime.timedelta(days=rng.randint(0, 40_000))


def written(day: datetime.date, rng: random.Random) -> str:
    """The day as people write it."""
    if rng.random() < 0.5:
        return f"{day.day} {day:%B} {day.year}"
    return f"{day:%B} {day.day}, {day.year}"


@template(held_out=False)
def weekday_of(rng: random.Random) -> Made:
    day = day_of(rng)
    other = day + datetime.timedelta(days=rng.randint(1, 6))
    return f"{written(day, rng)} was a {day:%A}.", f"{written(day, rng)} was a {other:%A}."


@template(held_out=True)
def meeting_on(rng: random.Random) -> Made:
    day = day_of(rng)
    other = day + datetime.timedelta(days=rng.randint(1, 6))
    head = "The board met on "
    return f"{head}{day:%A}, {written(day, rng)}.", f"{head}{other:%A}, {written(day, rng)}."


@template(held_out=False)
def days_between(rng: random.Random) -> Made:
    first, days = day_of(rng), rng.randint(3, 300)
    last = first + datetime.timedelta(days=days)
    head = f"From {written(first, rng)} to {written(last, rng)} is "
    return f"{head}{days} days.", f"{head}{days + rng.choice([-7, -2, 1, 2, 10])} days."


@template(held_out=True)
def days_after(rng: random.Random) -> Made:
    first, days = day_of(rng), rng.randint(2, 90)
    last = first + datetime.timedelta(days=days)
    wrong = last + datetime.timedelta(days=rng.choice([-2, -1, 1, 3]))
    head = f"{days} days after {written(first, rng)} is "
    return f"{head}{written(last, rng)}.", f"{head}{written(wrong, rng)}."


@template(held_out=False)
def age_at(rng: random.Random) -> Made:
    born, age = rng.randint(1900, 1980), rng.randint(18, 80)
    head = f"{rng.choice(PEOPLE)} was born in {born} and was aged "
    return f"{head}{age} in {born + age}.", f"{head}{age + rng.choice([-6, -4, 3, 5])} in {born + age}."


@template(held_out=True)
def died_aged(rng: random.Random) -> Made:
    born, age = rng.randint(1880, 1930), rng.randint(40, 90)
    head = f"{rng.choice(PEOPLE)} was born in {born} and died in {born + age} at the age of "
    return f"{head}{age}.", f"{head}{age + rng.choice([-7, -3, 2, 4, 10])}."


@template(held_out=False)
def tallest_chain(rng: random.Random) -> Made:
    a, b, c = rng.sample(PEOPLE, 3)
    head = f"{a} is taller than {b}, {b} is taller than {c}, so "
    return f"{head}{a} is taller than {c}.", f"{head}{c} is taller than {a}."


@template(held_out=True)
def dear_places(rng: random.Random) -> Made:
    a, b, c = rng.sample(PLACES, 3)
    head = f"{a} is more expensive than {b}. {b} is more expensive than {c}. Therefore "
    return f"{head}{c} is cheaper than {a}.", f"{head}{c} is more expensive than {a}."


@template(held_out=False)
def kilometres(rng: random.Random) -> Made:
    km, metres = rng.randint(1, 40), rng.randint(1, 9) * 100
    head = f"The route is {km} km + {metres} m = "
    return f"{head}{km + metres / 1000:g} km.", f"{head}{km + metres / 1000 + rng.choice([-0.2, 0.1, 0.3]):g} km."


@template(held_out=True)
def hours_in_minutes(rng: random.Random) -> Made:
    hours = rng.randint(2, 30)
    return (
        f"{hours} hours = {hours * 60} minutes.",
        f"{hours} hours = {hours * 60 + rng.choice([-60, -20, 40])} minutes.",
    )


@template(held_out=False)
def prime_or_not(rng: random.Random) -> Made:
    primes, others = [53, 59, 61, 67, 71, 73, 79, 83, 89, 97], [51, 57, 63, 77, 87, 91, 93, 99]
    return f"{rng.choice(primes)} is a prime number.", f"{rng.choice(others)} is a prime number."


@template(held_out=True)
def divisible(rng: random.Random) -> Made:
    by, times = rng.randint(3, 12), rng.randint(4, 40)
    return f"{by * times} is divisible by {by}.", f"{by * times + rng.randint(1, by - 1)} is divisible by {by}."


QUIET = (
    "The meeting is at 10:30 in room {a}-{b}, extension 555-{c}.",
    "Version {a}.{b}.{c} replaces {a}.{b}; see https://example.org/v{a}?x={b}={c}.",
    "{p} won {a}-{b} against {q}, after {c} minutes.",
    "Read pages {a}-{z} of chapter {b} first.",
    "If {a} + {b} = {w}, then something is wrong with the counter.",
    "It is a mistake to think that {a} × {b} = {w}.",
    "What is {a} × {b}? Is it {w}?",
    "Solve x + {a} = {b} for x, then 2x = {c}.",
    "```python\nassert {a} + {b} == {w}\n```\nThe assertion fails.",
    "The order of {iso} has the number {a}-{b}-{c}.",
    "Call +44 20 7946 0{c} or write to desk{a}@example.org.",
    "About {a}% of the {c} visitors stayed {b} days.",
    "{p} is taller than {q}, and {q} is older than {p}.",
    "In 2010 {p} was richer than {q}; in 2020 {q} was richer than {p}.",
    "The model scored {a}.{b} on task {c} and F1 = 0.{a}.",
    "Mix {a} parts of sand with {b} parts of lime (ratio {a}:{b}).",
    "The temperature rose from {a} to {z} degrees within {b} hours.",
    "He ran {a} times in {b} weeks, {c} km in all.",
    "The lot of {a} x {b} planks arrives on {iso}.",
    "Batch {a} - {b} pallets - is ready; batch {c} is not.",
)


def quiet(pattern: str, rng: random.Random) -> str:
    """An answer full of numbers that computes nothing."""
    a, b = rng.randint(2, 40), rng.randint(2, 40)
    p, q = rng.sample(PEOPLE, 2)
    values = {"a": a, "b": b, "c": rng.randint(100, 999), "w": a * b + a + b + 1, "z": a + b, "p": p, "q": q}
    return pattern.format(**values, iso=day_of(rng).isoformat())


def cases(seed: int = 7, per_template: int = 25) -> list[Case]:
    """All generated cases; the same for the same seed."""
    rng = random.Random(seed)
    made: list[Case] = []
    for name, (held_out, make) in TEMPLATES.items():
        for _ in range(per_template):
            right, wrong = make(rng)
            for text, is_wrong in ((right, False), (wrong, True)):
                made.append(Case(rng.choice(OPENERS) + text + rng.choice(CLOSERS), is_wrong, name, held_out))
    for place, pattern in enumerate(QUIET):
        held_out = place % 2 == 1
        made += [Case(quiet(pattern, rng), False, f"quiet_{place}", held_out) for _ in range(per_template)]
    return made
