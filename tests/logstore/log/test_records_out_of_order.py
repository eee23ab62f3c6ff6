"""Of a batch whose records have offsets that do not rise no reader gives one that goes back: it says so, and where."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from logstore import Codec, Log, LogFile
from logstore.batch.compression.codec import compress
from logstore.batch.decoding.plain_records import PLAIN_RECORDS
from logstore.batch.record import Record
from logstore.errors import CorruptRecordError
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from tests.logstore.batches import batch, record
from tests.logstore.batches import log as sound_log

Reader = Callable[[Path], Iterator[int]]

EACH: Final = 3
"""Records of a sound batch."""
FILE: Final = f"{0:020d}.log"


def offsets(records: Iterator[Record]) -> Iterator[int]:
    return (each.offset for each in records)


def read(directory: Path) -> Iterator[int]:
    with Log.open(directory) as log:
        yield from offsets(log.records())


def waited_for(directory: Path) -> Iterator[int]:
    with Log.open(directory) as log:
        yield from offsets(iter(log.tail(0)))


def consumed(directory: Path) -> Iterator[int]:
    with Log.open(directory) as log:
        yield from offsets(iter(log.cursor("reader")))


def in_columns(directory: Path) -> Iterator[int]:
    with Log.open(directory) as log:
        for columns in log.columns(0):
            yield from columns.offset.tolist()


def in_arrow(directory: Path) -> Iterator[int]:
    with Log.open(directory) as log:
        for each in log.arrow_batches(0):
            yield from each.column("offset").to_pylist()


def read_beside(directory: Path) -> Iterator[int]:
    with Log.reader(directory) as log:
        yield from offsets(log.records())


def waited_for_beside(directory: Path) -> Iterator[int]:
    with Log.reader(directory) as log:
        yield from offsets(iter(log.tail(0)))


def in_columns_beside(directory: Path) -> Iterator[int]:
    with Log.reader(directory) as log:
        for columns in log.columns(0):
            yield from columns.offset.tolist()


def recovered(directory: Path) -> Iterator[int]:
    yield from offsets(RecoveredLog.load(PartitionDirectory.open(directory)).records())


def recovered_in_columns(directory: Path) -> Iterator[int]:
    for columns in RecoveredLog.load(PartitionDirectory.open(directory)).columns():
        yield from columns.offset.tolist()


def of_a_file_in_columns(directory: Path) -> Iterator[int]:
    for columns in LogFile.open(directory / FILE).columns():
        yield from columns.offset.tolist()


BY_RECORD: Final = [read, waited_for, consumed, read_beside, waited_for_beside, recovered]
IN_COLUMNS: Final = [in_columns, in_arrow, in_columns_beside, recovered_in_columns, of_a_file_in_columns]
READERS: Final = [*BY_RECORD, *IN_COLUMNS]


def write(root: Path, before: int, deltas: list[int], codec: Codec, last_delta: int | None = None) -> tuple[Path, int]:
    """Write a log of sound batches, one with records at such offsets, and a sound one; say where that one lies."""
    directory = root / "t-0"
    directory.mkdir()
    head, base = sound_log(before, EACH), EACH * before
    section = b"".join(record(offset_delta=each, value=b"x") for each in deltas)
    last_delta = max(len(deltas) - 1, *deltas) if last_delta is None else last_delta
    odd = batch(
        section=compress(codec, section),
        base_offset=base,
        attributes=codec,
        record_count=len(deltas),
        last_offset_delta=last_delta,
    )
    tail = batch(records=[record(value=b"behind")], base_offset=base + last_delta + 1)
    (directory / FILE).write_bytes(head + odd + tail)
    return directory, len(head)


def outcome(reader: Reader, directory: Path) -> tuple[list[int], CorruptRecordError]:
    """What a reader gives, up to its error."""
    found: list[int] = []
    with pytest.raises(CorruptRecordError) as raised:
        found.extend(reader(directory))
    return found, raised.value


@pytest.fixture(params=["in plain Python", "by kernels"])
def before(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many sound batches lie before: kernels read where there are many."""
    is_plain = request.param == "in plain Python"
    monkeypatch.setattr(PLAIN_RECORDS, "records_left", 2**40 if is_plain else 0)
    return 2 if is_plain else 2_000


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize(
    ("deltas", "bad", "says"),
    [
        ([0, 1, 1, 2], 2, "and the one before it {before}"),
        ([0, 2, 1, 3], 2, "and the one before it {before}"),
        ([0, 1, 7, 3], 2, "in the batch of offsets {base} to {last}"),
        ([0, 1, -4, 3], 2, "in the batch of offsets {base} to {last}"),
    ],
    ids=["repeated", "going back", "beyond the batch", "before the batch"],
)
@pytest.mark.parametrize("reader", READERS)
def test_it_is_told_with_its_place(
    tmp_path: Path, reader: Reader, deltas: list[int], bad: int, says: str, codec: Codec, before: int
) -> None:
    directory, position = write(tmp_path, before, deltas, codec, last_delta=3)
    found, error = outcome(reader, directory)
    base = EACH * before
    sound = [base + each for each in deltas[:bad]] if reader in BY_RECORD else []
    assert found == [*range(base), *sound]
    assert (Path(error.file or ""), error.position, error.offset) == (directory / FILE, position, base + deltas[bad])
    told = f"a record has offset {base + deltas[bad]:,}, "
    assert error.what == told + says.format(base=f"{base:,}", last=f"{base + 3:,}", before=f"{base + deltas[1]:,}")
    assert "take the batch from another replica" in str(error)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize("reader", READERS)
def test_so_it_is_in_a_batch_that_is_decoded_in_parts(tmp_path: Path, reader: Reader, codec: Codec) -> None:
    deltas = [*range(20_000), 19_999, 20_001]
    directory, position = write(tmp_path, 1, deltas, codec)
    found, error = outcome(reader, directory)
    assert found == [*range(EACH), *(EACH + each for each in deltas[:-2] if reader in BY_RECORD)]
    assert (error.position, error.offset) == (position, EACH + 19_999)


@pytest.mark.parametrize("reader", READERS)
def test_so_it_is_in_a_batch_with_more_records_than_offsets(tmp_path: Path, reader: Reader) -> None:
    directory, position = write(tmp_path, 1, [0, 1, 1], Codec.NONE, last_delta=0)
    found, error = outcome(reader, directory)
    assert found == [*range(EACH), *([EACH, EACH + 1] if reader in BY_RECORD else [])]
    assert (error.position, error.offset) == (position, EACH + 1)


def test_the_records_of_the_batch_itself_are_given_as_they_are(tmp_path: Path) -> None:
    directory, position = write(tmp_path, 1, [0, 2, 1, 1], Codec.NONE, last_delta=3)
    [odd] = [each for each in LogFile.open(directory / FILE).batches() if each.position == position]
    assert list(offsets(odd.records())) == [EACH, EACH + 2, EACH + 1, EACH + 1]
