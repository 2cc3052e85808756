"""Each kind of source over real files, databases and HTTP: found, missing, near, and what it cannot tell."""

import asyncio
import csv
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from stub import Received, Stub, serving

from evidencerails.checks.knowledge.base import Answer, KnowledgeSource, Lookup, folded
from evidencerails.checks.knowledge.http import USER_AGENT
from evidencerails.checks.knowledge.sources import TextSource, make_source
from evidencerails.errors import KnowledgeError, SettingsError
from evidencerails.settings.addresses import AddressError
from evidencerails.settings.knowledge import SourceSettings

USERS = ("usr_1001", "usr_1002", "usr_2050")
PAPERS = (
    ("Manakul, P.; Liusie, A.; Gales, M.", 2023, "SelfCheckGPT"),
    ("Müller-Lüdenscheidt, K.", 2011, "On bath tubs"),
)
HOSTILE = ("' OR 1=1 --", 'usr_1001" OR "1"="1', "%", "usr_100_", "usr_100*", "\0")


def source_of(name: str = "s", **settings: Any) -> KnowledgeSource:
    return make_source(name, SourceSettings(**settings))


def value(text: str | int | float | bool, *, is_folded: bool = False) -> Lookup:
    return Lookup.of(text, is_folded=is_folded)


def paper(author: str, year: int) -> Lookup:
    return Lookup.of(f"{author} {year}", parts={"author": author, "year": str(year)}, is_folded=True)


def ask(source: KnowledgeSource, lookup: Lookup) -> Answer | None:
    return asyncio.run(source.lookup(lookup))


def found(source: KnowledgeSource, lookup: Lookup) -> bool | None:
    answer = ask(source, lookup)
    return None if answer is None else answer.is_found


def near(source: KnowledgeSource, lookup: Lookup) -> tuple[str, ...]:
    return asyncio.run(source.near(lookup))


# ---- the same users and papers, in every kind that holds a table


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "facts.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute('CREATE TABLE users ("user id" TEXT, number INTEGER)')
        connection.executemany("INSERT INTO users VALUES (?, ?)", [(u, int(u[4:])) for u in USERS])
        connection.execute("CREATE TABLE papers (title TEXT, authors TEXT, year INTEGER)")
        connection.executemany("INSERT INTO papers VALUES (?, ?, ?)", [(t, a, y) for a, y, t in PAPERS])
        connection.commit()
    return file


def _files(folder: Path, kind: str) -> dict[str, dict[str, Any]]:
    """The users and papers as files of a kind."""
    tables = {
        "users": [{"user id": u, "number": int(u[4:])} for u in USERS],
        "papers": [{"title": t, "authors": a, "year": y} for a, y, t in PAPERS],
    }
    for name, rows in tables.items():
        with (folder / f"{name}.{kind}").open("w", encoding="utf-8-sig") as file:
            if kind == "csv":
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.writelines(json.dumps(row) + "\n\n" for row in rows)
    users, papers = ({"kind": kind, "path": str(folder / f"{name}.{kind}")} for name in tables)
    return {"users": {**users, "field": "user id"}, "papers": {**papers, "field": "title"}}


def _sqlalchemy(database: Path) -> dict[str, dict[str, Any]]:
    common = {"kind": "sqlalchemy", "url": f"sqlite:///{database}"}
    return {"users": {**common, "table": "users", "field": "user id"}, "papers": {**common, "table": "papers"}}


@pytest.fixture(params=["csv", "jsonl", "sqlalchemy"])
def tables(request: pytest.FixtureRequest, tmp_path: Path, database: Path) -> dict[str, dict[str, Any]]:
    return _sqlalchemy(database) if request.param == "sqlalchemy" else _files(tmp_path, request.param)


def test_a_value_is_found_as_written(tables: dict[str, dict[str, Any]]) -> None:
    users = source_of(**tables["users"])
    assert [v for v in ("usr_1001", "usr_1009", "USR_1001", "usr_100", "") if found(users, value(v))] == ["usr_1001"]
    assert found(users, value("USR 1001", is_folded=True)) is True
    answer = ask(users, value("usr_1001"))
    assert answer is not None and "1001" in answer.record


def test_a_number_is_found_however_it_is_written(tables: dict[str, dict[str, Any]]) -> None:
    numbers = source_of(**{**tables["users"], "field": "number"})
    given = [1001, "1001", 1001.0, 1009, "01001", " 1001", "1001abc", True, "true", 10**30]
    assert [found(numbers, value(v)) for v in given] == [True, True, True, *[False] * 7]


@pytest.mark.parametrize("text", HOSTILE)
def test_metacharacters_of_sql_are_data(tables: dict[str, dict[str, Any]], text: str) -> None:
    users = source_of(**tables["users"])
    assert found(users, value(text)) is False
    assert found(users, value(text, is_folded=True)) is False
    asyncio.run(users.near(value(text)))
    assert found(users, value("usr_1001")) is True


def test_a_paper_is_found_by_author_and_year(tables: dict[str, dict[str, Any]]) -> None:
    papers = source_of(**tables["papers"], fields={"author": "authors", "year": "year", "title": "title"})
    known = [paper("Manakul", 2023), paper("Gales", 2023), paper("Muller-Ludenscheidt", 2011)]
    unknown = [paper("Manakul", 2024), paper("Manaku", 2023), paper("Smith", 2023), paper("P", 2011)]
    assert [found(papers, one) for one in (*known, *unknown)] == [True] * 3 + [False] * 4
    assert found(papers, Lookup.of("selfcheckgpt", parts={"title": "selfcheckgpt"}, is_folded=True)) is True


def test_near_misses_are_shown(tables: dict[str, dict[str, Any]]) -> None:
    users = source_of(**tables["users"])
    assert set(near(users, value("usr_1009"))[:2]) == {"usr_1001", "usr_1002"}
    assert near(users, value("something else")) == ()
    papers = source_of(**tables["papers"], fields={"author": "authors", "year": "year"})
    (misspelt,) = near(papers, paper("Mueller-Ludenscheid", 2011))
    assert "Müller-Lüdenscheidt, K." in misspelt
    assert near(papers, paper("Okonkwo", 2011)) == ()
    titles = source_of(**{**tables["papers"], "field": "title"})
    assert found(titles, paper("Manakul", 2023)) is None  # a table without the columns cannot tell


# ---- what only one kind has


def test_names_of_tables_and_columns_are_quoted(tmp_path: Path) -> None:
    file, table, column = tmp_path / "odd.db", 'my "users"; --', 'the "id" col'
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in (table, column)}
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE TABLE {quoted[table]} ({quoted[column]} TEXT)")
        connection.execute(f"INSERT INTO {quoted[table]} VALUES ('a1')")
        connection.commit()
    source = source_of(kind="sqlalchemy", url=f"sqlite:///{file}", table=table, field=column)
    assert [found(source, value(v)) for v in ("a1", "a2")] == [True, False]
    assert asyncio.run(source.near(value("a11x"))) == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"table": "user"}, "no_table"),
        ({"table": "users; DROP TABLE users"}, "no_table"),
        ({"field": "id"}, "no column 'id'; its columns: user id, number"),
        ({"url": f"sqlite:///{__file__}"}, "not a database"),
    ],
)
def test_a_table_that_is_not_there_is_no_answer(database: Path, change: dict[str, str], reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        ask(source_of(**{**_sqlalchemy(database)["users"], **change}), value("usr_1001"))


def test_a_file_that_is_not_there_is_a_settings_error_and_a_relative_one_lies_beside_the_settings(
    database: Path,
) -> None:
    with pytest.raises(SettingsError, match="there is no file"):
        source_of(kind="sqlalchemy", url="sqlite:///nowhere.db", table="users")
    settings = SourceSettings(kind="sqlalchemy", url=f"sqlite:///{database.name}", table="users", field="user id")
    assert found(make_source("s", settings, [database.parent]), value("usr_1001")) is True


def test_a_sqlite_file_is_never_written(database: Path) -> None:
    before = database.read_bytes()
    users = source_of(**_sqlalchemy(database)["users"])
    assert found(users, value("usr_1001'; DELETE FROM users; --")) is False
    assert database.read_bytes() == before


def test_a_url_with_a_password_stays_out_of_the_message() -> None:
    with pytest.raises(SettingsError) as caught:
        source_of(kind="sqlalchemy", url="nosuchdb://user:s3cret@host/db", table="t")
    assert "s3cret" not in str(caught.value)


def test_a_list_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "ids.jsonl"
    file.write_text('"a1"\n7\n', encoding="utf-8")
    source = source_of(kind="jsonl", path=str(file))
    assert [found(source, value(v)) for v in ("a1", 7, "b2")] == [True, True, False]
    file.write_text('"b2"\n', encoding="utf-8")
    os.utime(file, (1, 1))
    assert [found(source, value(v)) for v in ("a1", "b2")] == [False, True]
    file.write_text("{broken\n", encoding="utf-8")
    os.utime(file, (2, 2))
    with pytest.raises(SettingsError, match="cannot read"):
        ask(source, value("b2"))


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("l.jsonl", "{broken\n", "cannot read"),
        ("l.jsonl", '{"key": 1}\n', "line 1 has no key 'id'; its keys: key"),
        ("l.jsonl", '["a"]\n', "line 1 is a JSON list"),
        ("l.jsonl", "[" * 100_000 + "\n", "cannot read"),
        ("l.csv", "", "no heading line"),
        ("l.csv", "name\nx\n", "no column 'id'; its columns: name"),
    ],
)
def test_a_list_that_cannot_be_read_is_a_settings_error(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=told):
        source_of(kind=name[2:], path=str(tmp_path / name), field="id")


# ---- functions


async def _asked_later(given: Any) -> Any:
    await asyncio.sleep(0)
    return SAID[given]


SAID = {1: True, 2: False, 3: {"name": "Ada"}, 4: None, 5: "Ada"}
ANSWERS = [Answer(True), Answer(False), Answer(True, "name: Ada"), Answer(False), Answer(True, "Ada")]


@pytest.mark.parametrize("function", [SAID.get, _asked_later])
def test_functions_say_yes_no_or_a_record(function: Any) -> None:
    source = source_of(kind="callable", function=function)
    assert [ask(source, value(n)) for n in SAID] == ANSWERS


@pytest.mark.parametrize("wrong", [0, "", {}, object()])
def test_a_function_of_wrong_type_has_no_answer(wrong: Any) -> None:
    with pytest.raises(KnowledgeError, match="bad_answer"):
        ask(source_of(kind="callable", function=lambda _: wrong), value("x"))


@pytest.mark.slow
def test_a_function_that_hangs_ends_in_time_and_does_not_hold_the_program() -> None:
    forever = threading.Event()
    source = source_of(kind="callable", function=lambda _: forever.wait(), timeout_s=0.05)
    for _ in range(12):  # more than the threads a source has
        with pytest.raises(KnowledgeError, match="timeout"):
            ask(source, value("x"))
    forever.set()


def test_a_function_is_found_by_its_import_path() -> None:
    assert found(source_of(kind="callable", function="os.path:isabs"), value("/tmp")) is True
    for path in ("os.path:nothing", "no_such_module:f", "os:sep"):
        with pytest.raises(SettingsError):
            source_of(kind="callable", function=path)


# ---- HTTP


@contextmanager
def endpoint(answers: dict[str, tuple[int, str]], *, delay_s: float = 0.0) -> Iterator[tuple[str, Stub]]:
    """An endpoint that answers by path."""
    gate = threading.Event()

    def answer(request: Received) -> tuple[int, str]:
        gate.wait(delay_s)
        return answers.get(request.path, (404, ""))

    with serving(answer) as stub:
        try:
            yield stub.url, stub
        finally:
            gate.set()


def http(url: str, **settings: Any) -> KnowledgeSource:
    return source_of(kind="http", url=url, allow_private=True, **settings)


@pytest.mark.slow
def test_an_endpoint_answers_by_what_it_gives() -> None:
    hits = {name: (200, json.dumps({"hits": ids})) for name, ids in (("a1", [{"id": "a1"}]), ("b2", []))}
    no_answers = {
        "status": (500, "{}"), "missing": (404, ""), "text": (200, "not json"), "deep": (200, "[" * 200_000),
        "other": (200, '{"other": 1}'), "moved": (302, "/u?q=a1"), "empty": (204, ""),
        "big": (200, '"' + "x" * 2_000_000 + '"'),
    }  # fmt: skip
    answers = {**hits, "c3": (200, '{"hits": [{"id": "c33"}]}'), **no_answers}
    with endpoint({f"/u?q={name}": answer for name, answer in answers.items()}) as (url, _):
        source = http(url + "/u?q={value}", results="hits", field="id")
        assert [found(source, value(v)) for v in ("a1", "b2", "c3")] == [True, False, False]
        assert ask(source, value("c3")) == Answer(False, near=("c33",))
        for no_answer in no_answers:
            with pytest.raises(KnowledgeError, match=r"bad_status|bad_answer"):
                ask(source, value(no_answer))
        assert found(http(url + "/u?q={value}", results="hits", missing_status=[404]), value("missing")) is False


def test_the_values_of_matches_may_lie_deeper_and_the_program_says_who_it_is() -> None:
    """Wikidata's search says under `match.text` what it found, which may be an alias of the label."""
    matches = [{"label": "lion", "match": {"text": "Panthera leo"}}, {"label": "lion", "match": {}}]
    answers = {"/u?q=a1": (200, json.dumps({"search": matches[:1]})), "/u?q=b2": (200, json.dumps({"search": matches}))}
    with endpoint(answers) as (url, asked):
        source = http(url + "/u?q={value}", results="search", field="match.text")
        assert ask(source, value("a1")) == Answer(False)
        answers["/u?q=Panthera%20leo"] = answers["/u?q=a1"]
        assert found(source, value("Panthera leo")) is True
        with pytest.raises(KnowledgeError, match=r"a match has no 'match\.text'"):
            ask(source, value("b2"))
        assert {request.headers["User-Agent"] for request in asked.requests} == {USER_AGENT}


@pytest.mark.slow
def test_redirects_are_not_followed() -> None:
    secret = endpoint({"/secret": (200, "true")})
    with secret as (target, seen), endpoint({"/u/a1": (302, f"{target}/secret")}) as (url, _):
        with pytest.raises(KnowledgeError, match="bad_status: 302"):
            ask(http(url + "/u/{value}"), value("a1"))
        assert seen.requests == []


def test_a_value_cannot_leave_its_place_in_the_address() -> None:
    with endpoint({"/u/a1": (200, "true")}) as (url, asked):
        source = http(url + "/u/{value}")
        climbing = ("../admin", "a1/../../x", "//evil.example/x", "%2e%2e")
        for hostile in (*climbing, "a1?x=1", "a1#x", "a1\r\nHost: x", "{value}"):
            with pytest.raises(KnowledgeError):
                ask(source, value(hostile))
        for dots in (".", ".."):
            with pytest.raises(KnowledgeError, match="bad_value"):
                ask(source, value(dots))
        assert all(path.startswith("/u/") and "/" not in path[3:] and "?" not in path for path, _, _ in asked.requests)


def test_a_slow_endpoint_ends_in_time() -> None:
    with endpoint({"/u/a1": (200, "true")}, delay_s=5.0) as (url, _), pytest.raises(Exception, match="time"):
        ask(http(url + "/u/{value}", timeout_s=0.1), value("a1"))


def test_private_addresses_are_refused_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("127.0.0.1", "10.0.0.7", "192.168.1.1", "169.254.169.254", "[::1]", "localhost", "x.localhost"):
        with pytest.raises(SettingsError, match="private address"):
            source_of(kind="http", url=f"http://{host}/u/{{value}}")
    hosts = Path("/etc/hosts").read_text(encoding="utf-8")
    own_name = next((line.split()[1] for line in hosts.splitlines() if line and not line.startswith("#")), "localhost")
    if own_name != "localhost":  # a name that leads to a private address is found out when it is asked
        with pytest.raises(AddressError, match="not public"):
            ask(source_of(kind="http", url=f"http://{own_name}/u/{{value}}"), value("a1"))


@pytest.mark.parametrize("url", ["ftp://host/{value}", "http://{value}/x", "file:///etc/{value}", "{value}"])
def test_an_address_that_is_none_is_a_settings_error(url: str) -> None:
    with pytest.raises(SettingsError):
        http(url)


def test_a_key_is_sent_and_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="'MY_KEY', which is not set"):
        http("http://127.0.0.1/{value}", api_key_env="MY_KEY")


# ---- texts


def test_a_knowledge_base_verifies_what_it_names_and_refutes_nothing() -> None:
    async def search(_: str) -> list[dict[str, str]]:
        return [{"body": "Atorvastatin (Manakul et al. 2023) lowers cholesterol."}]

    source = source_of(kind="knowledge_base")
    assert isinstance(source, TextSource) and source.is_complete is False
    with pytest.raises(KnowledgeError, match="no_knowledge_base"):
        ask(source, value("x"))
    source.find_search = lambda: search
    assert [found(source, value(v)) for v in ("atorvastatin", "statin")] == [True, False]
    assert [found(source, paper("Manakul", year)) for year in (2023, 2024)] == [True, False]


# ---- comparing


SAME = [("Müller", "Mueller"), ("Müller", "Muller"), ("Schröder, K.", "schroeder k"), ("Sørensen", "Soerensen"),
        ("Weiß", "Weiss")]  # fmt: skip
OTHERS = [("Bauer", "Baur"), ("Joe", "Jo"), ("Müller", "Möller")]


@pytest.mark.parametrize(
    ("one", "other", "are_same"), [*((*pair, True) for pair in SAME), *((*pair, False) for pair in OTHERS)]
)
def test_a_name_is_the_same_in_each_of_its_spellings(one: str, other: str, are_same: bool) -> None:
    assert (folded(one) == folded(other)) is are_same
