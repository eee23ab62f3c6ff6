"""A replicated log that is held back: damage below its recovery point keeps it closed until somebody was asked."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from logstore.errors import DamagedLogError
from logstore.log.log import Log
from logstore.log_config import LogConfig

CONFIG = LogConfig(file_delete_delay_ms=0)
RECORDS = [b"promised one", b"promised two", b"tail one", b"tail two", b"tail three"]
FLUSHED = 2


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log file of a log whose process died, when the first two of its records were flushed."""
    written = Log.open(tmp_path / "t-0", CONFIG, replicated=True)
    for value in RECORDS[:FLUSHED]:
        written.append([value])
    written.flush()
    for value in RECORDS[FLUSHED:]:
        written.append([value])
    written.abandon()
    return tmp_path / "t-0/00000000000000000000.log"


def damage(log: Path, value: bytes) -> None:
    content = bytearray(log.read_bytes())
    content[content.index(value)] ^= 1
    log.write_bytes(content)


@pytest.mark.parametrize("number", range(FLUSHED))
def test_what_was_promised_and_is_damaged_is_held(log: Path, number: int) -> None:
    damage(log, RECORDS[number])
    before = log.read_bytes()
    with pytest.raises(DamagedLogError, match=f"offsets {number} to 1 were on stable storage"):
        Log.open(log.parent, CONFIG, replicated=True, damage="hold")
    assert log.read_bytes() == before


@pytest.mark.parametrize("number", range(FLUSHED, len(RECORDS)))
def test_a_log_ends_at_damage_that_nobody_was_promised(log: Path, number: int) -> None:
    damage(log, RECORDS[number])
    with Log.open(log.parent, CONFIG, replicated=True, damage="hold") as opened:
        assert [record.value for record in opened.records()] == RECORDS[:number]


def test_bytes_that_follow_all_that_was_promised_are_cut(log: Path) -> None:
    Log.open(log.parent, CONFIG, replicated=True).close()
    size = log.stat().st_size
    with log.open("ab") as end:
        end.write(b"\0" * 100)
    with Log.open(log.parent, CONFIG, replicated=True, damage="hold") as opened:
        assert [record.value for record in opened.records()] == RECORDS
    assert log.stat().st_size == size


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_first_segment_is_missing_unless_a_crash_came_while_it_was_deleted(
    tmp_path: Path, *, is_deleted: bool
) -> None:
    log = Log.open(tmp_path / "t-0", CONFIG, replicated=True)
    log.append([b"deleted"], leader_epoch=1)
    log.roll()
    log.append([b"kept"], leader_epoch=2)
    log.flush()
    log.abandon()
    for path in log.directory.glob(f"{0:020d}.*"):
        path.rename(f"{path}.deleted") if is_deleted else path.unlink()
    opening = nullcontext() if is_deleted else pytest.raises(DamagedLogError, match="its first segment is that of 1")
    with opening, Log.open(log.directory, CONFIG, replicated=True, damage="hold") as opened:
        assert [record.value for record in opened.records()] == [b"kept"]
        assert opened.log_start_offset == 1
