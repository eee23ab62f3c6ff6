"""`recover --in-place` and `truncate --in-place`: behind the locks, on what is there by then, and after a question."""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import DirectoryLockedError
from logstore.files.directory_lock import LOCK_NAME, DirectoryLock
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.log.log import Log
from logstore.offline import directory_copy
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from replication.cli.changing import change
from tests.replication.cli.changing.test_change import ORDERS, contents, is_sound, root_with_a_torn_log
from tests.replication.cli.command import Outcome, epochlog

COMMANDS = pytest.mark.parametrize(
    "command", [["truncate", "root/orders-0", "--to", 3], ["recover", "root/orders-0"], ["recover", "root"]]
)
LOCKING_AS_A_JVM_DOES = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """As a broker leaves it that was stopped: without a lock file."""
    path = root_with_a_torn_log(tmp_path / "root")
    (path / LOCK_NAME).unlink()
    return path


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    """The directory of a log that stands alone, of four batches of five records each."""
    (tmp_path / "queues").mkdir()
    with Log.open(tmp_path / "queues/queue-0") as log:
        for _ in range(4):
            log.append([Record(0, 1_000, b"k", b"v")] * 5, leader_epoch=0)
        log.update_high_watermark(20)
    return tmp_path / "queues/queue-0"


class Terminal(io.StringIO):
    """Answers a question, and looks around first."""

    def __init__(self, answer: str, look: Callable[[], object] = lambda: None) -> None:
        super().__init__(f"{answer}\n")
        self._look = look

    def isatty(self) -> bool:
        return True

    def readline(self, size: int = -1, /) -> str:
        self._look()
        return super().readline(size)


def answering(monkeypatch: pytest.MonkeyPatch, answer: str, look: Callable[[], object] = lambda: None) -> None:
    monkeypatch.setattr(change, "_can_ask", lambda: True)
    monkeypatch.setattr(sys, "stdin", Terminal(answer, look))


def run_at(tmp_path: Path, command: list[object], *more: object) -> Outcome:
    name, place, *rest = command
    return epochlog(name, tmp_path / str(place), *rest, "--in-place", *more)


@COMMANDS
def test_everybody_is_kept_out_from_before_the_question_to_the_end(
    command: list[object], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def look() -> None:
        broker = [sys.executable, "-c", LOCKING_AS_A_JVM_DOES, str(root / LOCK_NAME)]
        looks.append(subprocess.run(broker, capture_output=True, check=False).returncode)
        for attempt in (lambda: LogDirectory.open(root), lambda: Log.open(root / "orders-0")):
            with pytest.raises(DirectoryLockedError):
                attempt()

    def then_look(of: type, name: str) -> None:
        real = getattr(of, name)

        def looked(*arguments: object, **options: object) -> object:
            look()
            return real(*arguments, **options)

        monkeypatch.setattr(of, name, looked)

    then_look(Log, "close")
    answering(monkeypatch, "y", look)
    outcome = run_at(tmp_path, command)

    assert outcome.status == (0 if command[0] == "truncate" else 1), outcome.err
    assert looks == [1, 1]
    assert (root / LOCK_NAME).exists()
    assert not (root / "orders-0" / LOCK_NAME).exists()
    DirectoryLock.acquire(root).release()


@COMMANDS
def test_what_was_appended_before_the_lock_was_taken_is_counted(
    command: list[object], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = DirectoryLock.acquire.__func__  # type: ignore[attr-defined]  # the function of the class method
    pending = [True]

    def appending_first(cls: type[DirectoryLock], place: Path) -> DirectoryLock:
        if pending:
            pending.clear()
            with LogDirectory.open(root) as directory:
                directory.log(ORDERS).roll()
                directory.log(ORDERS).append([Record(0, 1_000, b"k", b"later")], leader_epoch=2)
        lock: DirectoryLock = real(cls, place)
        return lock

    monkeypatch.setattr(DirectoryLock, "acquire", classmethod(appending_first))
    outcome = run_at(tmp_path, command, "--yes", "--json")

    if command[0] == "truncate":
        assert (outcome.document["log_end_offset_before"], outcome.document["records_removed"]) == (7, 4)
    else:
        assert outcome.document["partitions"][0]["log_end_offset"] == 7


@COMMANDS
def test_nothing_is_printed_of_what_somebody_else_works_on(command: list[object], root: Path, tmp_path: Path) -> None:
    for place in (root, root / "orders-0"):
        with DirectoryLock.acquire(place):
            outcome = run_at(tmp_path, command, "--yes")
            if place == root or command[1] != "root":
                assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
            assert "locked by" in outcome.err + outcome.out


@COMMANDS
def test_without_a_terminal_and_without_a_yes_nothing_is_changed(
    command: list[object], root: Path, tmp_path: Path
) -> None:
    before = contents(root)
    outcome = run_at(tmp_path, command)
    assert (outcome.status, outcome.out) == (2, "")
    assert "add --yes" in outcome.err
    assert contents(root) == before


@COMMANDS
@pytest.mark.parametrize("answer", ["", "n", "yesterday"])
def test_only_yes_is_a_yes(
    command: list[object], answer: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(root)
    answering(monkeypatch, answer)
    outcome = run_at(tmp_path, command, "--json")
    assert (outcome.status, outcome.document["error"]["class"]) == (2, "CommandError")
    assert outcome.err.endswith("epochlog: nothing was changed: the answer was not yes\n")
    after = contents(root)
    del after[LOCK_NAME]
    assert after == before


@COMMANDS
def test_a_dry_run_says_what_is_done_and_changes_nothing(command: list[object], root: Path, tmp_path: Path) -> None:
    before = contents(root)
    planned = run_at(tmp_path, command, "--dry-run", "--json")
    text = run_at(tmp_path, command, "--dry-run")
    assert contents(root) == before
    done = run_at(tmp_path, command, "--yes", "--json")
    assert (planned.status, text.status) == (done.status, done.status)
    assert (planned.document.pop("dry_run"), done.document["dry_run"]) == (True, False)
    if command[0] == "truncate":
        assert {**planned.document, "dry_run": False} == done.document
        assert "3 records in 357 bytes to drop; the log ends at 6 and will end at 3" in text.out
    else:
        (expected,), (actual,) = planned.document["partitions"], done.document["partitions"]
        for name in ("log_end_offset", "dropped_bytes", "epochs_before", "epochs_after"):
            assert expected[name] == actual[name]
        assert [each["position"] for each in expected["dropped"]] == [each["position"] for each in actual["dropped"]]
        (torn,) = expected["dropped"]
        assert torn["reason"]
        assert f"{torn['file']} cut at {torn['position']:,}: {torn['reason']}" in text.out
        assert str(root) not in text.out
        assert " position " not in text.out


@pytest.mark.parametrize("place", ["--in-place", "--output"])
def test_a_cut_inside_a_batch_is_reported_where_the_log_ends_and_leaves_a_sound_directory(
    place: str, queue: Path, tmp_path: Path
) -> None:
    where = ["--in-place", "--yes"] if place == "--in-place" else ["--output", tmp_path / "new"]
    outcome = epochlog("truncate", queue, "--to", 13, *where)
    assert outcome.status == 3
    assert "ended at 20 and ends at 10, not at 13, where no batch ends" in outcome.out
    assert "10 records in 212 bytes to drop; " in outcome.err
    assert "10 records (offsets 10..19, " in outcome.err
    path = queue if place == "--in-place" else tmp_path / "new/queue-0"
    assert [each.kind for each in verify(open_offline(path))] == []
    with Log.open(path) as log:
        assert (log.log_end_offset, log.high_watermark) == (10, 10)


def test_the_high_watermark_of_the_root_is_lowered_with_the_log(root: Path) -> None:
    epochlog("recover", root, "--in-place", "--yes")
    with LogDirectory.open(root) as directory:
        directory.log(ORDERS).update_high_watermark(6)
    told = epochlog("truncate", root / "orders-0", "--to", 4, "--in-place", "--yes", "--json").document
    assert (told["high_watermark_before"], told["high_watermark"]) == (6, 4)
    assert RootCheckpoints.read(root).of(ORDERS).high_watermark == 4
    assert is_sound(root)


@pytest.mark.parametrize("how", [["--in-place", "--yes"], ["--in-place", "--dry-run"], ["--output"]])
@pytest.mark.parametrize("command", [["truncate", "--to", 3], ["recover"]])
def test_nothing_is_done_through_a_symbolic_link_be_its_owner_beside_it_or_where_it_leads(
    command: list[object], how: list[object], root: Path, tmp_path: Path
) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links/orders-0"
    link.symlink_to(root / "orders-0")
    where = [*how, tmp_path / "new"] if how == ["--output"] else how
    with LogDirectory.open(root) as owner:
        log = owner.log(ORDERS)
        log.flush()
        before = contents(tmp_path)
        outcome = epochlog(command[0], link, *command[1:], *where)
        assert (outcome.status, outcome.out) == (2, "")
        assert "orders-0: the partition's directory is a symbolic link, which is not followed; replace" in outcome.err
        assert contents(tmp_path) == before
        assert log.append([Record.of(b"next")]).first_offset == 6


def test_a_directory_of_logs_that_stand_alone_is_recovered_log_by_log(queue: Path, tmp_path: Path) -> None:
    with open(next(queue.glob("*.log")), "ab") as file:
        file.write(b"torn")
    for arguments in (["--output", tmp_path / "new"], ["--in-place", "--yes"]):
        outcome = epochlog("recover", queue.parent, "--all", *arguments, "--json")
        assert outcome.status == 1, outcome.err
        (told,) = outcome.document["partitions"]
        assert (told["topic"], told["log_end_offset"], told["dropped_bytes"]) == ("queue", 20, 4)
    for path in (queue, tmp_path / "new/queue-0"):
        assert not (path.parent / "recovery-point-offset-checkpoint").exists()
        with Log.open(path) as log:
            assert (log.log_end_offset, log.high_watermark) == (20, 20)


def test_a_log_that_stands_alone_and_was_never_closed_gets_no_root_around_it(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "queue-0")
    log.append([Record(0, 1_000, b"k", b"v")] * 5, leader_epoch=0)
    log.flush()
    log.abandon()
    assert epochlog("recover", tmp_path, "--in-place", "--yes").status == 0
    assert {path.name for path in tmp_path.iterdir()} <= {"queue-0", LOCK_NAME}
    with Log.open(tmp_path / "queue-0") as log:
        assert log.log_end_offset == 5


def test_a_copy_is_refused_when_a_broker_starts_while_it_is_made(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, started = directory_copy.copy_directory, []

    def copying(*arguments: object, **options: object) -> None:
        real(*arguments, **options)  # type: ignore[arg-type]  # passed through
        started.append(DirectoryLock.acquire(root))

    monkeypatch.setattr(directory_copy, "copy_directory", copying)
    outcome = epochlog("recover", root, "--output", tmp_path / "new")
    started.pop().release()
    assert (outcome.status, outcome.out) == (2, "")
    assert "locked by" in outcome.err
