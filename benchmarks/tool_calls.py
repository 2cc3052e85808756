"""How often the check `tools` finds what is wrong with a tool call, and how often it holds back a sound one.

    python benchmarks/tool_calls.py [--json out.json] [--show seen|hand]

A case is one call of one of eight tools of a made-up shop, with tables of what exists in a SQLite file, a JSONL list
and a function. Sound calls are made from the tables, in the shapes of OpenAI, LangChain and plain dicts; wrong ones
have one thing changed by a template: the name, the arguments, or a value that does not exist. Half of the templates are
held out: their cases were never looked at while the check was written. The generator shares no code and no word lists
with the check. Fifty cases written by hand are reported apart (`tool_call_cases.jsonl`).

`found`: the finding names the violation that was planted; `any`: there is a finding at all.
"""

# ruff: noqa: SIM905
from __future__ import annotations

import argparse
import copy
import json
import random
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tables import publish

from evidencerails import Guard, Report

HAND_WRITTEN = Path(__file__).with_name("tool_call_cases.jsonl")
CASES_OF_A_TEMPLATE = 24
COUNTRIES = ("DE", "FR", "IT", "JP", "BR")
Arguments = dict[str, Any]


def an_object(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


TEXT, WHOLE, NUMBER, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}
TOOLS: list[dict[str, Any]] = [
    {"name": "get_customer", "parameters": an_object("customer_id", customer_id=TEXT)},
    {"name": "close_account", "parameters": an_object("customer_id", customer_id=TEXT, notify=FLAG)},
    {
        "name": "refund_order",
        "parameters": an_object(
            "order_no amount",
            order_no=WHOLE,
            amount={"type": "number", "exclusiveMinimum": 0, "maximum": 500},
            method={"enum": ["card", "voucher"]},
        ),
    },
    {
        "name": "ship_items",
        "parameters": an_object(
            "order_no skus",
            order_no=WHOLE,
            skus={"type": "array", "items": TEXT, "minItems": 1},
            address=an_object("street country", street=TEXT, country={"enum": list(COUNTRIES)}),
        ),
    },
    {
        "name": "set_price",
        "parameters": {**an_object("sku price", sku=TEXT, price=NUMBER), "additionalProperties": False},
    },
    {"name": "search_products", "parameters": an_object("query", query=TEXT, limit={"type": "integer", "minimum": 1})},
    {
        "name": "transfer_points",
        "parameters": an_object("from_customer to_customer points", from_customer=TEXT, to_customer=TEXT, points=WHOLE),
    },
    {"name": "store_hours"},
]


class Shop(NamedTuple):
    """What exists."""

    customers: list[str]
    orders: list[int]
    skus: list[str]


def a_shop(rng: random.Random) -> Shop:
    customers = [f"cst_{rng.getrandbits(24):06x}" for _ in range(400)]
    skus = [
        f"{rng.choice('LAMP DESK SOFA RUG'.split())}-{rng.randint(100, 999)}-{rng.choice('BKWR')}" for _ in range(300)
    ]
    return Shop(customers, rng.sample(range(40_000, 90_000), 500), skus)


def sound(rng: random.Random, shop: Shop, name: str) -> Arguments:
    customer, other = rng.sample(shop.customers, 2)
    order, sku = rng.choice(shop.orders), rng.choice(shop.skus)
    everything: dict[str, Arguments] = {
        "get_customer": {"customer_id": customer},
        "close_account": {"customer_id": customer, "notify": rng.random() < 0.5},
        "refund_order": {
            "order_no": order,
            "amount": round(rng.uniform(1, 499), 2),
            "method": rng.choice(["card", "voucher"]),
        },
        "ship_items": {
            "order_no": order,
            "skus": rng.sample(shop.skus, rng.randint(1, 3)),
            "address": {"street": f"Main Street {rng.randint(1, 99)}", "country": rng.choice(COUNTRIES)},
        },
        "set_price": {"sku": sku, "price": rng.choice([9, 9.5, 1200])},
        "search_products": {"query": rng.choice(["red lamp", "DROP TABLE sofas", "cst_000000", ""]), "limit": 5},
        "transfer_points": {"from_customer": customer, "to_customer": other, "points": rng.randint(1, 900)},
        "store_hours": {},
    }
    return everything[name]


class Case(NamedTuple):
    """One call, and the violation that was planted in it; none in a sound one."""

    call: Any
    planted: str
    template: str
    is_held_out: bool


class Wrong(NamedTuple):
    """One way to make a call wrong: it changes name and arguments in place, or gives another call."""

    violation: str
    tools: tuple[str, ...]
    plant: Callable[[random.Random, Shop, dict[str, Any]], Any]


def put(key: str, value: Callable[[random.Random, Shop, Arguments], Any]) -> Callable[..., None]:
    def plant(rng: random.Random, shop: Shop, call: dict[str, Any]) -> None:
        call["arguments"][key] = value(rng, shop, call["arguments"])

    return plant


def renamed(*names: str) -> Callable[..., None]:
    def plant(rng: random.Random, shop: Shop, call: dict[str, Any]) -> None:
        call["name"] = rng.choice(names)

    return plant


def without(key: str) -> Callable[..., None]:
    def plant(rng: random.Random, shop: Shop, call: dict[str, Any]) -> None:
        del call["arguments"][key]

    return plant


def one_off(text: str, rng: random.Random) -> str:
    """The text with one letter or digit of its end changed."""
    place = rng.randrange(max(4, len(text) - 3), len(text)) if len(text) > 4 else len(text) - 1
    return text[:place] + rng.choice([c for c in "0123456789abcdef" if c != text[place]]) + text[place + 1 :]


def turned(text: str) -> str:
    """The text with its last two different neighbours changed places."""
    for n in range(len(text) - 1, 4, -1):
        if text[n] != text[n - 1]:
            return text[: n - 1] + text[n] + text[n - 1] + text[n + 1 :]
    return text + "0"


def as_json(change: Callable[[str], str]) -> Callable[..., None]:
    def plant(rng: random.Random, shop: Shop, call: dict[str, Any]) -> None:
        call["arguments"] = change(json.dumps(call["arguments"]))

    return plant


def in_address(key: str, value: Any) -> Callable[..., None]:
    def plant(rng: random.Random, shop: Shop, call: dict[str, Any]) -> None:
        call["arguments"]["address"][key] = value

    return plant


NAME, FORM, VALUE = "unknown_tool", "invalid_arguments", "unknown_value"
SEEN: dict[str, Wrong] = {
    "plural name": Wrong(NAME, ("get_customer",), renamed("get_customers", "get_customer_")),
    "name of another world": Wrong(NAME, ("refund_order",), renamed("send_email", "python", "web_search")),
    "argument left out": Wrong(FORM, ("refund_order",), without("amount")),
    "number as words": Wrong(FORM, ("refund_order",), put("amount", lambda r, s, a: "twenty euros")),
    "choice that is none": Wrong(
        FORM, ("refund_order",), put("method", lambda r, s, a: r.choice(["cash", "Card", "paypal"]))
    ),
    "number too large": Wrong(FORM, ("refund_order",), put("amount", lambda r, s, a: r.choice([501, 5000, 1e9]))),
    "cut JSON": Wrong(FORM, ("ship_items",), as_json(lambda text: text[:-3])),
    "one letter off": Wrong(
        VALUE, ("get_customer", "close_account"), put("customer_id", lambda r, s, a: one_off(a["customer_id"], r))
    ),
    "out of thin air": Wrong(
        VALUE, ("get_customer",), put("customer_id", lambda r, s, a: f"cst_{r.randint(10, 99)}zz{r.randint(10, 99)}")
    ),
    "order off by a little": Wrong(
        VALUE,
        ("refund_order",),
        put("order_no", lambda r, s, a: next(n for n in range(a["order_no"] + 1, 99_999) if n not in s.orders)),
    ),
    "placeholder": Wrong(
        VALUE, ("get_customer",), put("customer_id", lambda r, s, a: r.choice(["<customer_id>", "unknown", "12345"]))
    ),
}
HELD_OUT: dict[str, Wrong] = {
    "another style of name": Wrong(NAME, ("close_account",), renamed("closeAccount", "CloseAccount", "account.close")),
    "a wished-for tool": Wrong(
        NAME, ("transfer_points",), renamed("transfer_all_points", "give_points", "undo_transfer")
    ),
    "argument renamed": Wrong(
        FORM, ("get_customer",), lambda r, s, c: c["arguments"].update({"id": c["arguments"].pop("customer_id")})
    ),
    "argument made up": Wrong(FORM, ("get_customer", "close_account", "set_price"), put("force", lambda r, s, a: True)),
    "list as text": Wrong(FORM, ("ship_items",), put("skus", lambda r, s, a: ", ".join(a["skus"]))),
    "empty list": Wrong(FORM, ("ship_items",), put("skus", lambda r, s, a: [])),
    "choice in depth": Wrong(FORM, ("ship_items",), in_address("country", "Germany")),
    "number in quotes": Wrong(FORM, ("transfer_points",), put("points", lambda r, s, a: str(a["points"]))),
    "a list for an object": Wrong(FORM, ("set_price",), as_json(lambda text: f"[{text}]")),
    "neighbours turned": Wrong(VALUE, ("close_account",), put("customer_id", lambda r, s, a: turned(a["customer_id"]))),
    "other case": Wrong(VALUE, ("set_price",), put("sku", lambda r, s, a: a["sku"].lower())),
    "one of a list": Wrong(VALUE, ("ship_items",), put("skus", lambda r, s, a: [*a["skus"], "DESK-000-X"])),
    "second of two": Wrong(
        VALUE, ("transfer_points",), put("to_customer", lambda r, s, a: "cst_" + one_off(a["to_customer"][4:], r) + "0")
    ),
    "id of another table": Wrong(VALUE, ("get_customer",), put("customer_id", lambda r, s, a: r.choice(s.skus))),
    "query for an id": Wrong(VALUE, ("close_account",), put("customer_id", lambda r, s, a: "' OR '1'='1")),
}
SHAPES: dict[str, Callable[[str, Arguments], Any]] = {
    "plain": lambda name, arguments: {"name": name, "arguments": arguments},
    "JSON": lambda name, arguments: {"name": name, "arguments": json.dumps(arguments)},
    "OpenAI": lambda name, arguments: {
        "id": "c1",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    },
    "LangChain": lambda name, arguments: {"name": name, "args": arguments, "id": "c1", "type": "tool_call"},
}
SEEN_SHAPES = ("plain", "JSON")


def generated(seed: int = 11) -> tuple[list[Case], Shop]:
    """The cases, and what exists."""
    rng = random.Random(seed)
    shop = a_shop(rng)
    cases: list[Case] = []
    for is_held_out, templates in enumerate((SEEN, HELD_OUT)):
        for name, wrong in templates.items():
            for _ in range(CASES_OF_A_TEMPLATE):
                tool = rng.choice(wrong.tools)
                call = {"name": tool, "arguments": copy.deepcopy(sound(rng, shop, tool))}
                wrong.plant(rng, shop, call)
                if wrong.violation != VALUE or not _exists(call, shop):
                    cases.append(Case(call, wrong.violation, name, bool(is_held_out)))
        for tool in TOOLS:
            for _ in range(CASES_OF_A_TEMPLATE * len(templates) // len(TOOLS)):
                shape = rng.choice([s for s in SHAPES if (s in SEEN_SHAPES) is not bool(is_held_out)])
                call = SHAPES[shape](tool["name"], sound(rng, shop, tool["name"]))
                cases.append(Case(call, "", f"sound {tool['name']}, {shape}", bool(is_held_out)))
    return cases, shop


def _exists(call: dict[str, Any], shop: Shop) -> bool:
    """True if a changed value is by chance another one that exists."""
    keys = ("customer_id", "to_customer")
    return any(call["arguments"].get(key) in shop.customers for key in keys) and "to_customer" not in call["arguments"]


def guard_of(shop: Shop, folder: Path) -> Guard:
    """A guard over the tables of a shop, one in each kind of source."""
    with closing(sqlite3.connect(folder / "shop.db")) as connection:
        connection.execute("CREATE TABLE customers (id TEXT PRIMARY KEY)")
        connection.executemany("INSERT OR IGNORE INTO customers VALUES (?)", [(c,) for c in shop.customers])
        connection.commit()
    (folder / "skus.jsonl").write_text("".join(json.dumps({"sku": s}) + "\n" for s in shop.skus), encoding="utf-8")
    orders = frozenset(shop.orders)
    customers = {"source": "customers"}
    tools = {
        "sources": {
            "customers": {"kind": "sqlite", "path": str(folder / "shop.db"), "table": "customers"},
            "skus": {"kind": "jsonl", "path": str(folder / "skus.jsonl"), "field": "sku"},
        },
        "resolvers": {
            "customer_id": customers,
            "transfer_points.from_customer": customers,
            "transfer_points.to_customer": customers,
            "order_no": {"function": lambda value: value in orders},
            "sku": {"source": "skus"},
            "ship_items.skus": {"source": "skus"},
        },
    }
    return Guard({"checks": ["tools"], "tools": tools})


class Outcome(NamedTuple):
    """What the check said about one case."""

    case: Case
    status: str
    violations: list[str]

    @property
    def is_found(self) -> bool:
        """The planted violation is among the findings."""
        return self.case.planted in self.violations


def judged(cases: list[Case], guard: Guard) -> list[Outcome]:
    """Every case with its outcome."""
    outcomes = []
    for case in cases:
        report: Report = guard.check_sync(tool_calls=[case.call], tools=TOOLS)
        outcomes.append(Outcome(case, report.status, [str(finding.violation) for finding in report.findings]))
    return outcomes


def figures(outcomes: list[Outcome]) -> dict[str, float]:
    """Rates over the wrong and the sound calls; a sound call that is not grounded counts as held back."""
    wrong = [o for o in outcomes if o.case.planted]
    right = [o for o in outcomes if not o.case.planted]
    return {
        "wrong": len(wrong),
        "found": sum(o.is_found for o in wrong) / max(1, len(wrong)),
        "any": sum(bool(o.violations) for o in wrong) / max(1, len(wrong)),
        "sound": len(right),
        "held_back": sum(o.status != "grounded" for o in right) / max(1, len(right)),
    }


def hand_written() -> tuple[list[Case], Shop]:
    """The cases of the file, and what its first line says exists."""
    lines = [json.loads(line) for line in HAND_WRITTEN.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Case(row["call"], row.get("planted", ""), "by hand", True) for row in lines[1:]], Shop(**lines[0])


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write every case with its outcome to this file")
    parser.add_argument(
        "--show", choices=("seen", "hand"), help="print the cases that went wrong; never those held out"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        cases, shop = generated()
        outcomes = judged(cases, guard_of(shop, Path(one)))
        own_cases, own_shop = hand_written()
        own = judged(own_cases, guard_of(own_shop, Path(two)))
    held_out = [o for o in outcomes if o.case.is_held_out]
    groups = {
        "generated, templates seen": [o for o in outcomes if not o.case.is_held_out],
        "generated, templates held out": held_out,
        **{f"held out: {name}": [o for o in held_out if o.case.planted == name] for name in (NAME, FORM, VALUE)},
        "written by hand": own,
    }
    data = {name: figures(group) for name, group in groups.items()}
    if options.json:
        rows_of = [{**o.case._asdict(), "status": o.status, "violations": o.violations} for o in outcomes + own]
        options.json.write_text(json.dumps(rows_of, indent=1), encoding="utf-8")
    if options.show:
        for o in own if options.show == "hand" else groups["generated, templates seen"]:
            if not o.is_found if o.case.planted else o.status != "grounded":
                print(o.status, o.case.template, json.dumps(o.case.call), o.case.planted, o.violations)
        return
    rows = [("cases", "wrong", "found", "any finding", "sound", "held back")]
    for name, f in data.items():
        back = f"{f['held_back']:.1%}" if f["sound"] else "-"
        rows.append((name, f"{f['wrong']:.0f}", f"{f['found']:.1%}", f"{f['any']:.1%}", f"{f['sound']:.0f}", back))
    publish("tool_calls", rows, data)


if __name__ == "__main__":
    main()
