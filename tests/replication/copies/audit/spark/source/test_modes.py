"""Each mode does what it says about each kind of damage, and its rows add up to all that is in the files."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from logstore import LogFile
from logstore.batch.compression.codec import Codec, compress
from logstore.errors import CorruptBatchError
from tests.data.replicas import PROJECT, damage_kinds, damaged
from tests.logstore.batches import batch, record
from tests.replication.copies.audit.spark.source.planned import Planned, Row

LEGACY: Final = sorted((PROJECT / "tests/data/legacy").glob("*.log"))
CORRUPT: Final = {"batch_length_overrun": 1, "garbage_tail": 1, "record_bitflip": 1, "truncated_tail": 1}
"""In how many places something cannot be read, by kind of damage; all other kinds leave that all can be read."""
COUNTS: Final = {"batches", "records", "corrupt_batches"}
PLACE: Final = ["topic", "partition", "segment", "position"]
OPTIONS: Final[list[dict[str, str]]] = [
    {"rows": "records", "taskBytes": "100000"},
    {"rows": "records", "startingOffsets": "330", "endingOffsets": "5800"},
    {"rows": "records", "where": "(offset < 1500 OR leader_epoch >= 0) AND replica LIKE 'broker%'"},
    {"rows": "records", "startingTimestamp": "2020-01-01T00:00:00Z", "isolation": "read_committed"},
    {"rows": "records", "columns": "offset,position,partition,topic,segment,corrupt"},
    {"rows": "batches", "taskBytes": "100000"},
    {"rows": "batches", "startingOffsets": "330", "where": "offset < 5800 OR leader_epoch = 1"},
]


def read(*paths: Path, **options: str) -> list[Row]:
    return Planned(*paths, **options).rows()


BREAKS: dict[str, Callable[[bytearray], None]] = {
    "flipped": lambda data: data.__setitem__(-1, data[-1] ^ 1),
    "no magic": lambda data: data.__setitem__(16, 9),
}


@pytest.mark.parametrize("how", BREAKS)
def test_a_corrupt_batch_is_a_row_is_left_out_or_ends_the_read(how: str, tmp_path: Path) -> None:
    sound = [batch(base_offset=3 * each, records=[record(offset_delta=n) for n in range(3)]) for each in range(4)]
    broken = bytearray(sound[1])
    BREAKS[how](broken)
    directory = tmp_path / "t-0"
    directory.mkdir()
    file = directory / f"{0:020d}.log"
    file.write_bytes(b"".join((sound[0], broken, *sound[2:])))

    permissive = read(directory)
    dropped = read(directory, mode="dropmalformed")

    assert [row["offset"] for row in dropped] == [0, 1, 2, 6, 7, 8, 9, 10, 11]
    assert [row for row in permissive if row["corrupt"] is None] == dropped
    [corrupt] = [row for row in permissive if row["corrupt"] is not None]
    assert (corrupt["position"], corrupt["segment"], corrupt["topic"]) == (len(sound[0]), 0, "t")
    assert (corrupt["offset"], corrupt["key"], corrupt["value"]) == (None, None, None)
    assert corrupt["base_offset"] == (3 if how == "flipped" else None)
    with pytest.raises(CorruptBatchError, match=f"{file}.*position {len(sound[0])}.*mode PERMISSIVE"):
        read(directory, mode="FAILFAST")
    headers = read(directory, rows="batches")
    assert [row["corrupt"] is None for row in headers] == [True, False, True, True]
    assert len(read(directory, rows="batches", mode="DROPMALFORMED")) == 3
    with pytest.raises(CorruptBatchError):
        read(directory, rows="batches", mode="FAILFAST")


def test_records_that_cannot_be_decoded_under_a_right_checksum_are_corrupt_too(tmp_path: Path) -> None:
    lies = [
        batch(base_offset=1, records=[record()], record_count=2),
        batch(base_offset=3, section=b"nonsense", record_count=1, attributes=int(Codec.ZSTD)),
        batch(base_offset=4, records=[record()], attributes=7),
    ]
    directory = tmp_path / "t-0"
    directory.mkdir()
    content = [batch(records=[record()]), *lies, batch(base_offset=9, records=[record()])]
    (directory / f"{0:020d}.log").write_bytes(b"".join(content))

    found = read(directory)

    assert [row["offset"] for row in found] == [0, None, None, None, 9]
    assert [row["base_offset"] for row in found] == [0, 1, 3, 4, 9]
    assert [row["offset"] for row in read(directory, mode="DROPMALFORMED")] == [0, 9]


DELTAS: Final = {"doubled": (0, 1, 1), "falling": (1, 0, 2), "beyond the batch": (0, 1, 3)}


@pytest.mark.parametrize("how", DELTAS)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_records_whose_offsets_do_not_rise_within_their_batch_are_corrupt_too(
    how: str, codec: Codec, tmp_path: Path
) -> None:
    section = b"".join(record(offset_delta=delta) for delta in DELTAS[how])
    lies = batch(
        base_offset=1,
        section=compress(codec, section),
        record_count=3,
        last_offset_delta=2,
        attributes=int(codec),
    )
    directory = tmp_path / "t-0"
    directory.mkdir()
    file = directory / f"{0:020d}.log"
    file.write_bytes(batch(records=[record()]) + lies + batch(base_offset=4, records=[record()]))

    found = read(directory)

    assert [(row["offset"], row["base_offset"], row["corrupt"] is None) for row in found] == [
        (0, 0, True),
        (None, 1, False),
        (4, 4, True),
    ]
    assert "offset does not rise" in found[1]["corrupt"]
    assert [row["offset"] for row in read(directory, mode="DROPMALFORMED")] == [0, 4]
    with pytest.raises(CorruptBatchError, match=r"offset does not rise.*mode PERMISSIVE"):
        read(directory, mode="FAILFAST")


def test_room_at_the_end_of_the_active_segment_is_no_damage(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(batch(records=[record()]) + bytes(500))

    assert [row["corrupt"] for row in read(directory, mode="FAILFAST")] == [None]
    (directory / f"{1:020d}.log").write_bytes(batch(base_offset=1, records=[record()]))
    assert [row["corrupt"] for row in read(directory)] == [None, "500 bytes are no batch", None]


@dataclass
class DamagedReplica:
    """A copy of a broker's partitions, damaged in one place."""

    root: Path
    expected: dict[str, Any]

    def table(self, **options: str) -> pa.Table:
        topic = self.expected["topic"]
        planned = Planned(self.root, **options, **({"topics": topic} if topic else {}))
        return pa.Table.from_batches(planned.batches())

    @cached_property
    def batches(self) -> pa.Table:
        return self.table(rows="batches")

    @cached_property
    def records(self) -> pa.Table:
        return self.table(rows="records")

    def path_of(self, row: Row) -> Path:
        return self.root / f"{row['topic']}-{row['partition']}" / f"{row['segment']:020d}.log"


@pytest.fixture(scope="module", params=damage_kinds())
def harmed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DamagedReplica]:
    root = tmp_path_factory.mktemp(request.param)
    expected = damaged(request.param, root)
    # Where a whole copy is gone another one is read.
    replica = "broker-1" if request.param == "missing_partition_dir" else expected["replica"]
    yield DamagedReplica(root / replica, expected)
    shutil.rmtree(root)


def sound(table: pa.Table) -> pa.Table:
    return table.filter(pc.is_null(table["corrupt"]))


def corrupt(table: pa.Table) -> list[Row]:
    rows: list[Row] = table.filter(pc.is_valid(table["corrupt"])).to_pylist()
    return rows


def places(table: pa.Table) -> list[Row]:
    """Count the rows of each batch, or piece that is none."""
    keys = PLACE
    rows: list[Row] = (
        table.group_by(keys).aggregate([([], "count_all")]).sort_by([(key, "ascending") for key in keys]).to_pylist()
    )
    return rows


def test_what_cannot_be_read_is_told_where_it_is_and_nowhere_else(harmed: DamagedReplica) -> None:
    expected = harmed.expected
    for rows in (harmed.batches, harmed.records):
        told = corrupt(rows)
        assert len(told) == CORRUPT.get(expected["kind"], 0)
        for row in told:
            first, last = expected["position_range"]
            assert first <= row["position"] < last
            directory = f"{expected['topic']}-{expected['partition']}"
            assert harmed.path_of(row) == harmed.root / directory / expected["file"]


def test_batches_and_what_is_none_fill_each_file(harmed: DamagedReplica) -> None:
    """Nothing is left out in silence but the room at the end of the last segment."""
    pieces: dict[Path, list[tuple[int, int]]] = {}
    for row in harmed.batches.to_pylist():
        pieces.setdefault(harmed.path_of(row), []).append((row["position"], row["position"] + row["size"]))

    for path, ranges in pieces.items():
        assert min(ranges)[0] == 0
        assert all(one[1] == other[0] for one, other in pairwise(sorted(ranges)))
        rest = path.read_bytes()[max(ranges)[1] :]
        is_last = path == max(path.parent.glob("*.log"))
        assert not rest or (is_last and not any(rest))


def test_records_are_as_many_as_batches_count(harmed: DamagedReplica) -> None:
    whole = harmed.batches
    counts = pc.if_else(pc.is_null(whole["corrupt"]), whole["record_count"], 1)
    counted = whole.set_column(0, "count_all", counts.cast(pa.int64())).select([*PLACE, "count_all"])

    by_header = counted.filter(pc.greater(counted["count_all"], 0)).sort_by([(name, "ascending") for name in PLACE])
    assert places(harmed.records) == by_header.to_pylist()
    without_decoding = harmed.table(rows="records", columns="corrupt,partition")
    assert len(sound(without_decoding)) == len(sound(harmed.records))
    assert [row["corrupt"] for row in corrupt(without_decoding)] == [row["corrupt"] for row in corrupt(harmed.records)]


@pytest.mark.parametrize("options", OPTIONS, ids=",".join)
def test_modes_add_up(options: dict[str, str], harmed: DamagedReplica) -> None:
    rows = options["rows"]
    permissive = harmed.table(**options)
    whole = harmed.batches if rows == "batches" else harmed.records

    assert harmed.table(mode="DROPMALFORMED", **options).equals(sound(permissive))
    if options.keys() <= {"rows", "taskBytes", "columns"}:
        assert places(permissive) == places(whole)
    assert {str(row) for row in places(permissive.filter(pc.is_valid(permissive["corrupt"])))} <= {
        str(row) for row in places(whole.filter(pc.is_valid(whole["corrupt"])))
    }
    if harmed.expected["kind"] == "record_bitflip":
        assert len(corrupt(permissive)) == 1, "its offsets are asked for, whatever else it may hold"
    first = next(iter(corrupt(permissive)), None)
    if first is None:
        assert harmed.table(mode="FAILFAST", **options).equals(permissive)
        return
    with pytest.raises(CorruptBatchError) as told:
        harmed.table(mode="failfast", **options)
    assert Path(str(told.value.file)).name == f"{first['segment']:020d}.log"
    assert told.value.position == first["position"]
    assert "mode PERMISSIVE" in str(told.value)


@pytest.mark.parametrize("kind", ["segments", "epochs"])
def test_rows_about_whole_copies_count_the_same(kind: str, harmed: DamagedReplica) -> None:
    permissive = harmed.table(rows=kind)
    headers = harmed.batches.filter(pc.is_valid(harmed.batches["base_offset"]))
    counted = {name: pc.sum(permissive[name]).as_py() for name in permissive.column_names if name in COUNTS}

    assert harmed.table(rows=kind, mode="DROPMALFORMED").equals(permissive)
    # An epoch that contradicts those around it is no epoch of the log; the audit finds it.
    misfits = 1 if (kind, harmed.expected["kind"]) == ("epochs", "epoch_field_bitflip_middle") else 0
    assert counted["batches"] == len(headers) - misfits
    if kind == "segments":
        assert counted["records"] == pc.sum(headers["record_count"]).as_py()
        assert counted["corrupt_batches"] == len(corrupt(headers))
    first = next(iter(corrupt(harmed.batches)), None)
    if first is None:
        assert harmed.table(rows=kind, mode="FAILFAST").equals(permissive)
        return
    with pytest.raises(CorruptBatchError) as told:
        harmed.table(rows=kind, mode="FAILFAST")
    assert (told.value.file, told.value.position) == (str(harmed.path_of(first)), first["position"])


@pytest.mark.parametrize("log", LEGACY, ids=lambda path: path.stem)
def test_each_message_of_magic_0_and_1_may_be_damaged(log: Path, tmp_path: Path) -> None:
    data = log.read_bytes()
    heads = [(each.position, each.size, each.record_count) for each in LogFile.open(log).batches()]
    file = tmp_path / "t-0" / f"{0:020d}.log"
    file.parent.mkdir()
    file.write_bytes(data)
    whole = read(file.parent)
    for position, size, count in heads:
        broken = bytearray(data)
        broken[position + size - 1] ^= 1
        file.write_bytes(broken)

        permissive = read(file.parent)

        [told] = [row for row in permissive if row["corrupt"] is not None]
        assert (told["position"], told["segment"]) == (position, 0)
        assert "checksum" in told["corrupt"]
        others = [row for row in whole if row["position"] != position]
        assert (
            [row for row in permissive if row["corrupt"] is None] == read(file.parent, mode="DROPMALFORMED") == others
        )
        assert len(others) + count == len(whole)
        with pytest.raises(CorruptBatchError, match=r"the checksum of .* does not match") as error:
            read(file.parent, mode="FAILFAST")
        assert (error.value.file, error.value.position) == (str(file), position)
