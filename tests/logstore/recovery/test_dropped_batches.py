"""What recovery reports of the batches that it drops: all whole ones count, as far as headers can be followed."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.recovery.dropped_batches import dropped_tail
from logstore.recovery.dropped_tail import DroppedTail
from tests.logstore.batches import simple_batch

RECORDS = 3
BATCHES = 5
BATCH = simple_batch(0, [b"v" * 20] * RECORDS)
"""As long as all of them."""
SIZE = len(BATCH)
LENGTH_AT, LAST_OFFSET_DELTA_AT, COUNT_AT = 8, 23, 57


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Offsets 30 to 44 in five batches."""
    path = tmp_path / f"{30:020d}.log"
    path.write_bytes(b"".join(simple_batch(30 + RECORDS * i, [b"v" * 20] * RECORDS) for i in range(BATCHES)))
    return path


def dropped(path: Path, position: int) -> DroppedTail:
    return dropped_tail(path, position, "why")


def overwrite(path: Path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


@pytest.mark.parametrize("kept", range(BATCHES))
def test_the_damaged_batch_and_all_behind_it_count(log: Path, kept: int) -> None:
    overwrite(log, kept * SIZE + SIZE - 1, b"x")
    left = BATCHES - kept
    assert dropped(log, kept * SIZE) == DroppedTail(log.name, kept * SIZE, left * SIZE, "why", left * RECORDS, 45)


@pytest.mark.parametrize("torn", [1, 60, SIZE - 1])
def test_a_torn_batch_does_not(log: Path, torn: int) -> None:
    log.write_bytes(log.read_bytes()[: 3 * SIZE + torn])
    assert dropped(log, 3 * SIZE) == DroppedTail(log.name, 3 * SIZE, torn, "why", 0, None)
    assert dropped(log, SIZE) == DroppedTail(log.name, SIZE, 2 * SIZE + torn, "why", 2 * RECORDS, 39)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: overwrite(path, 3 * SIZE, bytes(2 * SIZE)),
        lambda path: overwrite(path, 3 * SIZE + LENGTH_AT, struct.pack(">i", -1)),
    ],
    ids=["zeros", "length"],
)
def test_what_cannot_be_followed_is_unknown(log: Path, spoil: Callable[[Path], None]) -> None:
    spoil(log)
    assert dropped(log, 3 * SIZE) == DroppedTail(log.name, 3 * SIZE, 2 * SIZE, "why", None, None)
    assert dropped(log, 2 * SIZE) == DroppedTail(log.name, 2 * SIZE, 3 * SIZE, "why", RECORDS, 39)


@pytest.mark.parametrize("field", [LAST_OFFSET_DELTA_AT, COUNT_AT])
def test_a_damaged_header_does_not_claim_more_than_its_other_fields(log: Path, field: int) -> None:
    overwrite(log, 4 * SIZE + field, struct.pack(">i", 1 << 30))
    assert dropped(log, 4 * SIZE) == DroppedTail(log.name, 4 * SIZE, SIZE, "why", RECORDS, 45)


def test_a_file_that_cannot_be_read_is_not_counted(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError("bad sector")

    monkeypatch.setattr(Path, "open", fails)
    monkeypatch.setattr("mmap.mmap", None)  # where that sector would end the process
    assert dropped(log, SIZE) == DroppedTail(log.name, SIZE, 4 * SIZE, "why", None, None)


def test_what_is_large_is_not_read(log: Path) -> None:
    with log.open("r+b") as file:
        file.truncate((64 << 20) + SIZE + 1)
    assert dropped(log, SIZE) == DroppedTail(log.name, SIZE, (64 << 20) + 1, "why", None, None)
    assert dropped(log, SIZE + 1).bytes == 64 << 20
