"""`evidencerails serve`: the HTTP service."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import typer
from pydantic import ValidationError

from evidencerails.cli.common import CONFIG, CliError, one_of, say
from evidencerails.config import GuardConfig
from evidencerails.guard import Guard
from evidencerails.settings.operations import ApiKey, Role


def serve(
    config: Path | None = CONFIG,
    host: str | None = typer.Option(None, help="Address. Default: service.host, else 127.0.0.1."),
    port: int | None = typer.Option(None, "--port", "-p", help="Port; 0 takes a free one. Default: 8484."),
    keys_file: Path | None = typer.Option(None, metavar="FILE", help="YAML list of API keys: name, role, sha256."),
    new_key: str | None = typer.Option(None, metavar="NAME", help="Create an API key, print it and its entry, exit."),
    role: str = typer.Option("check", help="Role of the new key: check, read, review or admin."),
) -> int:
    """Serve checks over HTTP, with a dashboard at /.

    evidencerails serve --port 8484

    Without API keys it listens on loopback addresses only. Exit code: 0 stopped as asked, 2 wrong usage or settings.
    """
    if new_key is not None:
        return _print_new_key(new_key, role)
    from evidencerails.service.keys import keys_of
    from evidencerails.service.server import serve as run

    settings = GuardConfig.load(config)
    given = {"host": host, "port": port, "keys_file": str(keys_file) if keys_file else None}
    service = {**settings.service.model_dump(), **{name: value for name, value in given.items() if value is not None}}
    loaded = GuardConfig.load({"service": service}).service
    if loaded.keys_file is not None and not keys_of(loaded.model_copy(update={"keys": ()})):
        remedy = "put in the entry that `evidencerails serve --new-key NAME` prints"
        raise CliError(f"no API key in {loaded.keys_file!r}; {remedy}")
    run(Guard(settings.model_copy(update={"service": loaded})))
    say("stopped")
    return 0


def _print_new_key(name: str, role: str) -> int:
    from evidencerails.service.keys import new_key

    one_of("role", role, get_args(Role))
    key, digest = new_key()
    try:
        entry = ApiKey.model_validate({"name": name, "role": role, "sha256": digest})
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("String ")
        raise CliError(f"--new-key {name!r} {problem}; give the name of who gets the key, such as ci") from None
    print(key)
    say("this is the only time the key is shown; put its entry under service.keys or into the file of --keys-file:")
    print(f"- {{name: {entry.name!r}, role: {entry.role}, sha256: {entry.sha256}}}")
    return 0
