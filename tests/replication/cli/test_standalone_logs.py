"""Every command takes logs that stand alone for partitions: one by itself, or a directory of several."""

from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.log.log import Log
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cli.dumps import lines
from tests.replication.copies.audit.one_process import audit_here

LOGS = ("queue-0", "queue-1")


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    """Two directories of the same two logs: batches of five records, under two leaders; all committed but the last."""
    found = [tmp_path / "one", tmp_path / "two"]
    for place in found:
        place.mkdir()
        for name in LOGS:
            with Log.open(place / name) as log:
                for epoch in (0, 0, 1, 1):
                    log.append([Record(0, 1_000, b"k", b"v")] * 5, leader_epoch=epoch)
                log.update_high_watermark(15)
    return found


def run(command: str, places: list[Path], tmp_path: Path, name: str | None) -> Outcome:
    one, two = (place / name if name else place for place in places)
    arguments: dict[str, list[object]] = {
        "plan": ["--leader", one, "--follower", two],
        "advise": [one, two],
        "advise --epochs-only": ["--epochs-only", one, two],
        "recover": [one, "--all", "--output", tmp_path / "new"],
        "recover --dry-run": [one, "--all", "--dry-run"],
    }
    return epochlog(command.split(maxsplit=1)[0], *arguments.get(command, [one]), "--json")


@pytest.mark.parametrize("name", [None, "queue-1"])
@pytest.mark.parametrize(
    "command", ["epochs", "plan", "advise", "advise --epochs-only", "recover", "recover --dry-run"]
)
def test_it_has_a_row_for_each_log(command: str, name: str | None, places: list[Path], tmp_path: Path) -> None:
    outcome = run(command, places, tmp_path, name)
    assert outcome.status == 0, outcome.err
    rows = outcome.document["by_epochs" if "epochs-only" in command else "partitions"]
    assert [f"{row['topic']}-{row['partition']}" for row in rows] == ([name] if name else list(LOGS))
    ends = [row[key] for row in rows for key in ("log_end_offset", "end_offset") if key in row]
    assert set(ends) <= {20}


@pytest.mark.parametrize("name", [None, "queue-1"])
def test_verify_reads_all_of_it_and_finds_what_is_damaged(name: str | None, places: list[Path]) -> None:
    place = places[0] / name if name else places[0]
    assert epochlog("verify", place, "--records").status == 0
    (log,) = (places[0] / "queue-1").glob("*.log")
    log.write_bytes(log.read_bytes()[:-1])
    outcome = epochlog("verify", place, "--json")
    assert outcome.status == 1
    assert {finding["kind"] for finding in outcome.document["findings"]} >= {"torn-batch"}


@pytest.mark.parametrize("name", [None, "queue-1"])
def test_dump_prints_its_batches(name: str | None, places: list[Path]) -> None:
    place = places[0] / name if name else places[0]
    batches = [line for line in lines(epochlog("dump", place, "--json")) if line["kind"] == "batch"]
    assert [batch["base_offset"] for batch in batches] == [0, 5, 10, 15] * (1 if name else 2)


def test_the_audit_goes_by_its_own_checkpoint_files(places: list[Path]) -> None:
    with Log.open(places[1] / "queue-1") as log:
        log.truncate_to(15)
    partitions, findings = audit_here(*places)
    assert [partition["verdict"] for partition in partitions] == ["identical", "lagging"]
    assert {branch["high_watermark"] for each in partitions for branch in each["branches"]} == {15}
    assert [finding for finding in findings if finding["severity"] != "info"] == []


def test_truncate_and_recover_keep_its_own_checkpoint_files_right(places: list[Path], tmp_path: Path) -> None:
    queue = places[0] / "queue-0"
    for where in (["--output", tmp_path / "cut"], ["--in-place", "--yes"]):
        assert epochlog("truncate", queue, "--to", 12, *where).status == 3
    for place in (tmp_path / "cut", places[0]):
        assert epochlog("verify", place).status == 0
        with Log.open(place / "queue-0") as log:
            assert (log.log_end_offset, log.high_watermark) == (10, 10)
