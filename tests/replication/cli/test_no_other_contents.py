"""Each command that shows what is in records has `--mask`, and each that writes a page `--share`: later ones too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer

from replication.cli.main import app
from tests.replication.cli.command import COMMANDS, epochlog
from tests.replication.cli.planted import planted_copies, shown_in

NAMES: Final = [command.__name__ for command in COMMANDS]
SHOWING: Final = {"dump", "salvage", "audit", "incident"}
"""Of the planted copies; `advise` shows settings and users by which copies of the cluster's metadata differ."""
WITHOUT_RECORDS: Final = {
    "broker": "serves a cluster",
    "controller": "serves a cluster",
    "cluster": "asks a cluster for its metadata",
    "demo": "shows the copies that are shipped",
    "elect": "asks a cluster for elections",
    "format": "makes directories",
    "mirror": "writes logs as they are, and prints offsets",
    "reconcile": "takes of records their offsets alone, and needs Spark",
    "schema": "prints schemas",
    "serve": "serves copies to clients",
    "version": "prints a version",
    "warm": "compiles",
}


def runs_of(name: str, roots: list[Path], place: Path) -> list[list[object]]:
    """How a command is run so that it prints all that it can of these copies."""
    kept, losing = roots
    every: dict[str, list[list[object]]] = {
        "advise": [[*roots]],
        "audit": [[*roots, "--records"]],
        "dump": [[*roots, "--records"]],
        "epochs": [[kept], [losing]],
        "explain": [["t-0", *roots], ["torn-0", *roots], ["undecodable-0", *roots]],
        "incident": [[*roots, "--verbose"]],
        "plan": [["--leader", kept, "--follower", losing]],
        "recover": [[losing, "--output", place / "recovered"]],
        "repair": [[losing, "--from", kept, "--output", place / "repaired"]],
        "salvage": [[*roots, "--kept", "broker-0", "--dry-run"]],
        "transactions": [[*roots, "--kept", "broker-0"]],
        "truncate": [[losing / "t-0", "--to", "13", "--output", place / "truncated"]],
        "verify": [[*roots, "--records"]],
    }
    return every[name]


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_RECORDS])
def test_what_shows_contents_masks_them(name: str, as_json: tuple[str, ...], tmp_path: Path) -> None:
    roots = planted_copies(tmp_path / "copies")
    shown = set()
    for number, arguments in enumerate(runs_of(name, roots, tmp_path)):
        outcome = epochlog(name, *arguments, *as_json)
        assert "see `epochlog" not in outcome.err, f"run {number} is understood"
        shown |= shown_in(outcome.out + outcome.err)
    assert bool(shown) is (name in SHOWING)
    if name in SHOWING:
        assert "--mask" in options_of(name)
        for arguments in runs_of(name, roots, tmp_path / "again"):
            masked = epochlog(name, *arguments, *as_json, "--mask", "keys,values")
            assert not shown_in(masked.out + masked.err)


def test_each_command_is_tried_or_has_no_records() -> None:
    for name in NAMES:
        assert (name in WITHOUT_RECORDS) is not bool(_is_tried(name)), name
    assert WITHOUT_RECORDS.keys() <= set(NAMES)


def _is_tried(name: str) -> bool:
    try:
        return bool(runs_of(name, [Path("a"), Path("b")], Path()))
    except KeyError:
        return False


def test_each_command_that_writes_a_page_of_copies_that_are_named_can_share_it() -> None:
    writing = {name for name in NAMES if any(".html" in str(each.metavar) for each in parameters(name))}
    assert writing == {"audit", "demo", "incident"}
    assert all("--share" in options_of(name) for name in writing - WITHOUT_RECORDS.keys())


def parameters(name: str) -> Iterator[Any]:
    commands: Any = typer.main.get_command(app)
    yield from commands.commands[name].params


def options_of(name: str) -> set[str]:
    return {option for parameter in parameters(name) for option in parameter.opts}
