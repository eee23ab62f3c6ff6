"""Nothing is overwritten unasked."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Never

import pytest

from replication.cli.commands import demo
from replication.cli.judging.audit_engines import AuditRun
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog

ONE, TWO = (replicas("diverged") / name for name in ("broker-1", "broker-2"))
LOG = ONE / "diverge-0" / f"{0:020d}.log"
MINE = "what was there before"
COMMANDS: dict[str, list[object]] = {
    # The file or directory that is there already is called `there`, with the suffix that is named.
    "audit --report .html": ["audit", ONE, TWO, "--topics", "diverge"],
    "audit --differences .jsonl": ["audit", ONE, TWO, "--topics", "diverge"],
    "audit --metrics .prom": ["audit", ONE, TWO, "--topics", "diverge"],
    "audit --trends .html": ["audit", ONE, TWO, "--topics", "diverge", "--history", "history"],
    "audit --output": ["audit", ONE, TWO, "--topics", "diverge"],
    "incident --report .html": ["incident", ONE, TWO, "--topics", "diverge"],
    "salvage --output .jsonl": ["salvage", ONE, TWO, "--kept", "broker-1", "--topics", "diverge"],
    "salvage --output .parquet": ["salvage", ONE, TWO, "--kept", "broker-1", "--topics", "diverge"],
    "salvage --output": ["salvage", ONE, TWO, "--kept", "broker-1", "--topics", "diverge"],
    "dump --output .parquet": ["dump", LOG],
    "recover --output": ["recover", ONE],
    "repair --output": ["repair", ONE, "--from", TWO],
    "demo --report .html": ["demo"],
    "demo --unpack": ["demo"],
}
REPLACING = [
    name for name in COMMANDS if name.split()[0] in {"audit", "incident", "demo"} and name.endswith(("l", "m"))
]


def place_of(name: str) -> tuple[list[object], Path]:
    """The command with the option that names a place, and the place."""
    _, option, *suffix = name.split()
    place = Path(f"there{''.join(suffix)}")
    return [*COMMANDS[name], option, place], place


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(cluster: Path) -> Never:
        raise demo.NoSparkError(f"no Java for {cluster}")

    monkeypatch.setattr(demo, "_audit_with_spark", refuse)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_is_there_stays_as_it_is(name: str) -> None:
    arguments, place = place_of(name)
    place.write_text(MINE)
    outcome = epochlog(*arguments)
    said = outcome.err.splitlines()[-1]
    assert (outcome.status, outcome.out) == (2, "")
    assert str(place) in said
    assert "exists" in said
    assert place.read_text() == MINE
    assert [*Path().iterdir()] == [place]


@pytest.mark.parametrize("name", ["truncate", "recover"])
def test_a_copy_of_a_partition_that_is_there_stays_as_it_is(name: str) -> None:
    copy = Path("there/diverge-0")
    copy.mkdir(parents=True)
    (copy / "notes.txt").write_text(MINE)
    outcome = epochlog(name, ONE / "diverge-0", *(["--to", "1"] if name == "truncate" else []), "--output", "there")
    assert (outcome.status, outcome.out) == (2, "")
    assert [each.read_text() for each in copy.iterdir()] == [MINE]


@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("name", REPLACING)
def test_a_file_is_replaced_where_that_is_asked_for(name: str) -> None:
    arguments, place = place_of(name)
    place.write_text(MINE)
    assert epochlog(*arguments, "--overwrite").status in {0, 1, 3}
    assert MINE not in place.read_text()


def test_a_directory_is_never_replaced() -> None:
    Path("there").mkdir()
    assert epochlog("audit", ONE, TWO, "--output", "there", "--overwrite").status == 2


@pytest.mark.usefixtures("without_spark")
def test_each_demo_writes_a_page_of_its_own() -> None:
    pages = []
    for _ in range(3):
        assert epochlog("demo").status == 0
        pages.append(sorted(each.name for each in Path().glob("*.html")))
    assert pages[-1] == ["epochlog-demo-2.html", "epochlog-demo-3.html", "epochlog-demo.html"]
    assert [len(each) for each in pages] == [1, 2, 3]
    assert epochlog("demo", "--overwrite").status == 0
    assert sorted(each.name for each in Path().glob("*.html")) == pages[-1]


def test_a_file_that_comes_to_be_during_an_audit_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path("there.html")
    document = AuditRun.document

    def late(run: AuditRun, options: Mapping[str, Any], *, json: bool) -> dict[str, Any]:
        found = document(run, options, json=json)
        page.write_text(MINE)
        return found

    monkeypatch.setattr(AuditRun, "document", late)
    outcome = epochlog("incident", ONE, TWO, "--topics", "diverge", "--report", page)
    assert outcome.status == 3  # that acknowledged records are lost comes before what was not written
    assert outcome.err == f"epochlog: --report {page} was not written: {page}: File exists\n"
    assert page.read_text() == MINE
