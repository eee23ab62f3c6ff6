"""`plan`, `advise`, `epochs` and `dump` go on where a broker deletes what they are reading."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.offline.log_file import LogFile
from replication.base.errors import ACCESS_ADVICE
from replication.copies.planning.rereading import RELISTINGS
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cli.dumps import lines
from tests.replication.partitions import ABatch, write_partition

BATCHES = [ABatch(0, 5, 0), ABatch(5, 5, 1), ABatch(10, 5, 1)]
EPOCHS = [(0, 0), (1, 5)]
DELETED = "0123456789abcdef0123456789abcdef-delete"
COMPARING = pytest.mark.parametrize("command", ["plan", "advise", "epochs"])

Meanwhile = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Two brokers that both hold the partitions a-0 and b-0, which agree: a segment for each batch."""
    brokers = [tmp_path / "broker-1", tmp_path / "broker-2"]
    for broker in brokers:
        for name in ("a-0", "b-0"):
            write_partition(broker, BATCHES, EPOCHS, name=name, segment_batches=1)
    return brokers


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Let a broker do something once, just before the first log file of one partition is opened."""

    def install(partition: str, action: Callable[[], object]) -> None:
        real, actions = LogFile.open, [action]

        def opening(path: Path) -> LogFile:
            if path.parent.name == partition and actions:
                actions.pop()()
            return real(path)

        monkeypatch.setattr(LogFile, "open", opening)

    return install


def compare(command: str, roots: list[Path]) -> tuple[Outcome, list[str]]:
    """Run it, on the first root if it takes one only; name the topics that were judged."""
    places: dict[str, list[object]] = {
        "plan": ["--leader", roots[0], "--follower", roots[-1]],
        "advise": [*roots],
        "epochs": [roots[0]],
    }
    outcome = epochlog(command, *places[command], "--json")
    return outcome, [each["topic"] for each in outcome.document["partitions"]]


def rename(path: Path, suffix: str) -> None:
    path.rename(path.with_name(path.name + suffix))


def apply_retention(partition: Path) -> None:
    rename(partition / f"{0:020d}.log", ".deleted")
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n1 5\n")


def clean(partition: Path) -> None:
    """Put the last two segments together, as the cleaner does."""
    first, second = partition / f"{5:020d}.log", partition / f"{10:020d}.log"
    first.write_bytes(first.read_bytes() + second.read_bytes())
    rename(second, ".deleted")


@COMPARING
@pytest.mark.parametrize("change", [apply_retention, clean])
def test_a_segment_that_vanishes_is_read_by_a_new_listing(
    command: str, change: Callable[[Path], None], roots: list[Path], meanwhile: Meanwhile
) -> None:
    meanwhile("a-0", lambda: change(roots[0] / "a-0"))
    outcome, judged = compare(command, roots)
    assert (outcome.status, judged, outcome.err) == (0, ["a", "b"], "")


def test_a_segment_may_vanish_once_the_log_is_loaded(roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    write_partition(roots[0].with_name("broker-3"), BATCHES[:1], EPOCHS[:1], name="a-0")
    follower = roots[1] / "a-0"
    opened: list[Path] = []
    real = LogFile.open

    def opening(path: Path) -> LogFile:
        opened.append(path)
        if path.parent == follower and opened.count(path) == 2:
            clean(follower)
        return real(path)

    monkeypatch.setattr(LogFile, "open", opening)
    outcome, _ = compare("plan", [roots[0].with_name("broker-3"), roots[1]])
    [planned] = outcome.document["partitions"]
    assert (planned["truncate_to"], planned["records_lost"]) == (5, 10)


@COMPARING
def test_a_partition_that_vanishes_is_a_note_and_the_others_come_out(
    command: str, roots: list[Path], meanwhile: Meanwhile
) -> None:
    meanwhile("a-0", lambda: rename(roots[0] / "a-0", f".{DELETED}"))
    outcome, judged = compare(command, roots)
    assert (outcome.status, judged) == (0, ["b"])
    assert (
        outcome.err
        == f"epochlog: a-0: {roots[0] / 'a-0'}: deleted or renamed while it was being read, so it is left out\n"
    )


@COMPARING
def test_a_partition_that_was_named_and_vanishes_is_status_2(
    command: str, roots: list[Path], meanwhile: Meanwhile
) -> None:
    meanwhile("a-0", lambda: shutil.rmtree(roots[0] / "a-0"))
    outcome, judged = compare(command, [root / "a-0" for root in roots])
    assert (outcome.status, judged) == (2, [])
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("command", ["plan", "advise"])
def test_files_that_keep_vanishing_are_given_up(
    command: str, roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, refused = LogFile.open, []

    def opening(path: Path) -> LogFile:
        if path.parent == roots[0] / "a-0":
            refused.append(path)
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return real(path)

    monkeypatch.setattr(LogFile, "open", opening)
    outcome, judged = compare(command, roots)
    if command == "advise":
        assert (outcome.status, judged) == (2, ["a", "b"])
        assert [each["verdict"] for each in outcome.document["partitions"]] == ["unknown", "identical"]
        return
    assert (outcome.status, judged, len(refused)) == (2, ["b"], RELISTINGS + 1)
    assert outcome.err == f"epochlog: a-0: {refused[0]}: No such file or directory\n"


class TestDump:
    def test_prints_what_took_the_place_of_a_file_that_vanished(self, roots: list[Path], meanwhile: Meanwhile) -> None:
        partition = roots[0] / "a-0"
        meanwhile("a-0", lambda: apply_retention(partition))
        outcome = epochlog("dump", "--json", partition)
        batches = [each["base_offset"] for each in lines(outcome) if each["kind"] == "batch"]
        assert (outcome.status, outcome.err) == (0, "")
        assert batches == [5, 10, 0]  # the first by its new name, last

    def test_leaves_out_a_partition_that_vanishes(self, roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
        from replication.cli.dumping import files

        real = files.list_directory

        def listing(path: Path, *, root: Path) -> object:
            if path.name == "a-0":
                rename(path, f".{DELETED}")
            return real(path, root=root)

        monkeypatch.setattr(files, "list_directory", listing)
        outcome = epochlog("dump", "--json", roots[0])
        assert outcome.status == 0
        assert outcome.err.startswith(f"epochlog: {roots[0] / 'a-0'}: deleted or renamed")
        assert {Path(each["file"]).parent.name for each in lines(outcome)} == {"b-0"}

    def test_goes_on_after_a_partition_that_cannot_be_listed(
        self, roots: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from replication.cli.dumping import files

        real = files.list_directory

        def listing(path: Path, *, root: Path) -> object:
            if path.name == "a-0":
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, root=root)

        monkeypatch.setattr(files, "list_directory", listing)
        outcome = epochlog("dump", "--json", roots[0])
        assert outcome.status == 2
        assert outcome.err == f"epochlog: {roots[0] / 'a-0'}: Permission denied; {ACCESS_ADVICE}\n"
        [error] = [each for each in lines(outcome) if each["kind"] == "error"]
        assert (error["class"], error["file"]) == ("PermissionError", str(roots[0] / "a-0"))
        others = {Path(each["file"]).parent.name for each in lines(outcome) if each["kind"] != "error"}
        assert others == {"b-0"}
