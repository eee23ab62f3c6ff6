"""No command and no door of the library writes what is secret in an address, whichever of its arguments has it."""

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from traceback import format_exception
from typing import Any
from urllib.parse import quote

import pytest
import typer

from replication.audit import audit_locally, find_snapshots
from replication.cli.main import app
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from replication.copies.audit.pipeline.history import History
from tests.replication.cli.command import COMMANDS, epochlog
from tests.replication.copies.audit.snapshot_roots import batches, write_root

KEY = "AKIAIOSFODNN7EXAMPLE"
SECRETS = {"plain": "wJalrXUtnFEMIK7MDENG", "of marks": "wJalr/XUtn+FEMI=K7MDENG"}
WITHOUT_ADDRESSES = {"demo", "warm", "version"}
"""Commands that take no address to read from."""


class Refusing(BaseHTTPRequestHandler):
    """A store that lets nobody in, and repeats what it was asked."""

    def do_GET(self) -> None:
        told = f"<Error><Code>AccessDenied</Code><Message>{self.headers['Authorization']}</Message></Error>".encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_HEAD = do_PUT = do_GET  # noqa: N815  names that the server calls

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def addresses(store: str) -> dict[str, str]:
    return {
        name: f"s3://{KEY}:{quote(secret, safe='')}@bucket/x?endpoint_override={store}&scheme=http&region=x"
        for name, secret in SECRETS.items()
    }


def doors() -> list[tuple[str, str]]:
    """Each command with each of its arguments and options that have a value."""
    commands: Any = typer.main.get_command(app)
    assert set(commands.commands) == {command.__name__ for command in COMMANDS}
    return [
        (name, parameter.name)
        for name, command in commands.commands.items()
        for parameter in command.params
        if name not in WITHOUT_ADDRESSES and not getattr(parameter, "is_flag", False)
    ]


def arguments(command: str, chosen: str, address: str) -> list[str]:
    """Give the address to one parameter, and to all that the command cannot do without."""
    commands: Any = typer.main.get_command(app)
    given: list[str] = []
    for parameter in commands.commands[command].params:
        if parameter.name == chosen or parameter.required:
            given += [parameter.opts[0], address] if parameter.param_type_name == "option" else [address]
    has_json = any("--json" in parameter.opts for parameter in commands.commands[command].params)
    # A broker of our own would make its directory.
    return [*given, *(["--json"] if has_json else []), *(["--read-only"] if command == "serve" else [])]


def told_in(text: str) -> list[str]:
    forms = {KEY, *SECRETS.values(), *(quote(secret, safe="") for secret in SECRETS.values())}
    return [form for form in forms if form in text]


@pytest.mark.parametrize(("command", "parameter"), doors(), ids=str)
def test_no_command_prints_a_secret(
    command: str, parameter: str, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for address in addresses(store).values():
        outcome = epochlog(command, *arguments(command, parameter, address))
        assert outcome.status != 0
        assert told_in(outcome.out + outcome.err) == []


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    for node in range(2):
        write_root(tmp_path / f"copies/broker-{node}", {"t-0": batches(9)}, node=node)
    return tmp_path / "copies"


def written(place: Path) -> str:
    return "".join(path.read_bytes().decode(errors="replace") for path in place.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", SECRETS)
def test_nothing_that_an_audit_writes_has_a_secret(name: str, store: str, copies: Path, tmp_path: Path) -> None:
    place = f"file://{KEY}:{quote(SECRETS[name], safe='')}@{{}}".format
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    options = [
        *("--workers", "0", "--report", outputs / "page.html", "--metrics", outputs / "metrics.prom"),
        *("--trends", outputs / "trends.html", "--json"),
    ]
    for history, status in ((place(tmp_path / "history"), 0), (addresses(store)[name], 2)):
        outcome = epochlog("audit", place(copies), "--history", history, *options)
        assert outcome.status == status
        assert told_in(outcome.out + outcome.err + written(outputs) + written(tmp_path / "history")) == []


def doors_of_the_library(address: str, copies: Path) -> list[Callable[[], object]]:
    return [
        lambda: find_snapshots([address]),
        lambda: audit_locally([copies], history=address, workers=0).document,
        lambda: History.at(address).latest_run(),
        lambda: SourceOptions.of({"path": address, "rows": "nothing"}),
        lambda: SourceOptions.of({"path": address * 100}),
    ]


def test_no_error_of_the_library_has_a_secret(store: str, copies: Path) -> None:
    for address in addresses(store).values():
        for door in doors_of_the_library(address, copies):
            assert told_in(_told_by(door)) == []


def _told_by(door: Callable[[], object]) -> str:
    """Give what is returned, or all that an error says with what it came of."""
    try:
        return str(door())
    except Exception as error:  # noqa: BLE001  whatever it is
        return "".join(format_exception(error.with_traceback(None)))
