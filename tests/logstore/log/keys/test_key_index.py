"""`Log.get(key=)` returns the last record of a key, whatever becomes of the log and of the index's own files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from tempfile import mkdtemp

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from logstore import BatchTemplate, Codec, HoleError, Isolation, Log, LogClosedError, LogConfig, LogProducer, Record
from logstore.log.keys import key_index
from logstore.log.keys.key_run import KeyRun

KEYS = [b"", b"a", b"b", b"c", b"d" * 60]
CONFIG = LogConfig(segment_bytes=1_000, file_delete_delay_ms=0)
COMPACTED = replace(CONFIG, cleanup_policy=frozenset({"compact"}))
RECORDS = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from([None, b"1", b"2"])), min_size=1, max_size=8)


@pytest.fixture(autouse=True)
def small_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_index, "SPILL", 7)
    monkeypatch.setattr(key_index, "STEP", 20)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        yield log


def records(pairs: Sequence[tuple[bytes | None, bytes | None]]) -> list[Record]:
    return [Record.of(value, key) for key, value in pairs]


def runs(log: Log) -> list[Path]:
    return sorted(log.directory.glob("*.keys"))


def abort(producer: LogProducer, written: Sequence[Record]) -> None:
    with producer.transaction():
        producer.append(written)
        raise ZeroDivisionError


def last_of(log: Log, key: bytes, isolation: Isolation = Isolation.LOG_END) -> Record | None:
    """What the index has to find, by reading everything."""
    return next((record for record in reversed(list(log.records(isolation=isolation))) if record.key == key), None)


class Histories(RuleBasedStateMachine):
    """A log that is written, cut and compacted, and whose index is asked, loses files and has wrong ones."""

    base: Path

    def __init__(self) -> None:
        super().__init__()
        self.log = Log.open(mkdtemp(dir=self.base), COMPACTED)

    @rule(lists=st.lists(RECORDS, min_size=1, max_size=6), codec=st.sampled_from([Codec.NONE, Codec.LZ4]))
    def append(self, lists: list[list[tuple[bytes, bytes | None]]], codec: Codec) -> None:
        for pairs in lists:
            self.log.append(records(pairs), template=BatchTemplate(codec=codec))

    @rule(pairs=RECORDS)
    def append_and_ask(self, pairs: list[tuple[bytes, bytes | None]]) -> None:
        self.log.append(records(pairs))
        self.ask()

    @rule(share=st.floats(0.5, 1), pairs=RECORDS)
    def append_behind_a_cut(self, share: float, pairs: list[tuple[bytes, bytes | None]]) -> None:
        self.ask()
        self.truncate(share)
        self.append_and_ask(pairs)

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        start, end = self.log.log_start_offset, self.log.log_end_offset
        self.log.truncate_to(start + int((end - start) * share))

    @rule(share=st.floats(0, 1))
    def trim(self, share: float) -> None:
        start, end = self.log.log_start_offset, self.log.log_end_offset
        self.log.trim(before=start + int((end - start) * share))

    @rule()
    def begin_anew(self) -> None:
        self.log.truncate_fully_and_start_at(self.log.log_end_offset + 3)

    @rule()
    def compact(self) -> None:
        self.log.roll()
        self.log.flush()
        self.log.compact()

    @rule(asked=st.booleans())
    def reopen(self, asked: bool) -> None:
        if asked:
            self.ask()
        self.log.close()
        self.log = Log.open(self.log.directory, COMPACTED)

    @rule(data=st.data())
    def lose_a_file(self, data: st.DataObject) -> None:
        self.log.close()
        if found := runs(self.log):
            data.draw(st.sampled_from(found)).unlink()
        self.log = Log.open(self.log.directory, COMPACTED)

    @rule(data=st.data())
    def flip_a_bit(self, data: st.DataObject) -> None:
        self.log.close()
        if found := runs(self.log):
            path = data.draw(st.sampled_from(found))
            content = bytearray(path.read_bytes())
            content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
            path.write_bytes(content)
        self.log = Log.open(self.log.directory, COMPACTED)

    @rule()
    def ask(self) -> None:
        for key in KEYS:
            assert self.log.get(key=key) == last_of(self.log, key)
        assert self.log.get(key=b"nobody's") is None

    def teardown(self) -> None:
        self.ask()
        self.log.close()


def test_histories(memory_dir: Path) -> None:
    Histories.base = memory_dir
    run_state_machine_as_test(Histories, settings=settings(max_examples=60, stateful_step_count=25, deadline=None))  # type: ignore[no-untyped-call]


def test_the_last_record_of_a_key_is_found_and_a_tombstone_is_one(log: Log) -> None:
    log.append(records([(b"a", b"1"), (b"b", b"2"), (None, b"3"), (b"a", None)]))
    found = log.get(key="a")
    assert found is not None
    assert (found.offset, found.value) == (3, None)
    assert log.get(key=b"c") is None


def test_files_serve_the_next_process_and_only_what_is_new_is_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        log.append(records([(b"%d" % number, b"v"), (b"same", b"v")]))
    assert log.get(key=b"0") is not None
    assert runs(log)
    log.close()
    with Log.open(log.directory, CONFIG) as again:
        read: list[int] = []
        real = Log.records

        def noting(self: Log, start: int, end: int | None = None, *, skip_holes: bool = False) -> Iterator[Record]:
            read.append(start)
            return real(self, start, end, skip_holes=skip_holes)

        monkeypatch.setattr(Log, "records", noting)
        for number in range(20):
            found = again.get(key=b"%d" % number)
            assert found is not None
            assert found.offset == 2 * number
        assert min(read) >= 40 - key_index.SPILL


def test_a_file_with_any_bit_flipped_is_not_trusted(log: Log) -> None:
    log.append(records([(b"%d" % number, b"v") for number in range(8)]))
    log.get(key=b"0")
    (path,) = runs(log)
    content = path.read_bytes()
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert KeyRun.read(path) is None
    path.write_bytes(content)
    assert KeyRun.read(path) is not None


def test_files_that_a_log_has_outlived_as_it_was_put_back_are_not_trusted(tmp_path: Path) -> None:
    """Neither its epochs nor its end tell: it was closed in order, and goes on in the epoch in which it was."""
    path, saved = tmp_path / "t-0", tmp_path / "saved"
    with Log.open(path, CONFIG) as log:
        log.append(records([(b"before", b"v")] * 5))
    copytree(path, saved)
    with Log.open(path, CONFIG) as log:
        log.append(records([(b"later %d" % number, b"v") for number in range(10)]))
        assert log.get(key=b"later 3") is not None
        assert runs(log)
    for file in path.iterdir():
        if file.suffix != ".keys":
            file.unlink()
    copytree(saved, path, dirs_exist_ok=True)
    with Log.open(path, CONFIG) as log:
        for number in range(12):
            log.append(records([(b"other %d" % number, b"v")]))
        assert [log.get(key=b"other %d" % number) for number in range(12)] == list(log.records(5))
        assert log.get(key=b"later 3") is None


def test_runs_are_joined_so_that_there_are_few(log: Log) -> None:
    for number in range(600):
        log.append(records([(b"%d" % number, b"v")]))
        log.get(key=b"0")
    assert 600 // key_index.SPILL > 50
    assert len(runs(log)) <= 8
    assert sum(len(run) for path in runs(log) if (run := KeyRun.read(path))) > 600 - key_index.SPILL


def test_what_is_below_the_start_of_the_log_takes_no_space(log: Log) -> None:
    for number in range(150):
        log.append(records([(b"%d" % number, b"v" * 50)]))
        log.get(key=b"0")
        log.trim(before=max(0, number - 20))
    assert log.get(key=b"100") is None
    assert sum(len(run) for path in runs(log) if (run := KeyRun.read(path))) < 60


def test_only_what_the_isolation_lets_be_read_is_found(log: Log) -> None:
    log.append(records([(b"a", b"committed")]))
    with pytest.raises(ZeroDivisionError):
        abort(log.producer(7), records([(b"a", b"aborted")]))
    log.append(records([(b"b", b"later")]))
    log.flush()
    for isolation in Isolation:
        assert log.get(key=b"a", isolation=isolation) == last_of(log, b"a", isolation)
    found = log.get(key=b"a", isolation=Isolation.READ_COMMITTED)
    assert found is not None
    assert found.value == b"committed"


def test_keys_with_equal_checksums_are_told_apart(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_index, "crc32c", lambda _: 1)
    log.append(records([(b"a", b"1"), (b"b", b"2")] * 10))
    for key, offset in ((b"a", 18), (b"b", 19)):
        found = log.get(key=key)
        assert found is not None
        assert found.offset == offset
    assert log.get(key=b"c") is None


def test_a_record_before_a_hole_may_not_be_the_last(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        for key in (b"a", b"b", b"c", b"d"):
            log.append(records([(key, b"v" * 600)]))
    _, second, *_ = sorted((tmp_path / "t-0").glob("*.log"))
    content = bytearray(second.read_bytes())
    content[-50] ^= 1
    second.write_bytes(content)
    with Log.open(tmp_path / "t-0", CONFIG, damage="hole", check_all=True) as log:
        (hole,) = log.holes
        before, behind = hole.start_offset - 1, hole.end_offset
        last, first = list(log.records(skip_holes=True))[-1], next(log.records())
        assert first.offset <= before < behind <= last.offset
        assert first.key is not None
        assert last.key is not None
        assert log.get(key=last.key) == last
        for unsure in (first.key, b"nobody's"):
            with pytest.raises(HoleError, match="skip_holes=True"):
                log.get(key=unsure)
        assert log.get(key=first.key, skip_holes=True) == first
        assert log.get(key=b"nobody's", skip_holes=True) is None


def test_a_full_disk_leaves_the_index_in_memory(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(KeyRun, "write", full)
    for number in range(50):
        log.append(records([(b"%d" % number, b"v")]))
        assert log.get(key=b"%d" % number) is not None
    assert not runs(log)
    assert log.get(key=b"3") is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "offset is None, and so is the key"),
        ({"offset": 1, "key": b"a"}, "are two places"),
        ({"key": 7}, "of type int: pass bytes"),
    ],
)
def test_what_is_no_question_is_refused(log: Log, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        log.get(**arguments)  # type: ignore[call-overload]


def test_a_closed_log_is_not_asked(log: Log) -> None:
    log.append(records([(b"a", b"1")]))
    assert log.get(key=b"a") is not None
    log.close()
    with pytest.raises(LogClosedError):
        log.get(key=b"a")
