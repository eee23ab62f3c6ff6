"""Batches are rows where a record in them is asked for, by its time or by how its transaction ended."""

from pathlib import Path

import pytest

from logstore.batch.batch_attributes import CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.compression.codec import Codec
from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.errors import CorruptBatchError
from tests.logstore.batches import batch, record
from tests.replication.copies.audit.spark.source.planned import Planned, Row

BEYOND_A_TIMESTAMP = 2**62


def read(content: list[bytes], root: Path, **options: str) -> list[Row]:
    directory = root / "t-0"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{0:020d}.log").write_bytes(b"".join(content))
    return Planned(directory, **{"rows": "batches", **options}).rows()


def at(offset: int, *times: int) -> bytes:
    records = [record(offset_delta=delta, timestamp_delta=time) for delta, time in enumerate(times)]
    return batch(base_offset=offset, records=records, base_timestamp=0, max_timestamp=max(times))


def marker(offset: int, kind: ControlType, producer: int) -> bytes:
    end = EndTransactionMarker(kind, 0, 3).record(0)
    attributes = TRANSACTIONAL_BIT | CONTROL_BIT
    return batch(
        base_offset=offset, records=[record(key=end.key, value=end.value)], attributes=attributes, producer_id=producer
    )


def test_committed_batches_count_the_committed_records(tmp_path: Path) -> None:
    def sent(offset: int, producer: int) -> bytes:
        records = [record(offset_delta=each) for each in range(2)]
        return batch(base_offset=offset, records=records, attributes=TRANSACTIONAL_BIT, producer_id=producer)

    content = [sent(0, 1), sent(2, 2), marker(4, ControlType.ABORT, 1), marker(5, ControlType.COMMIT, 2)]
    content += [at(6, 0), sent(7, 1), at(9, 0)]

    committed = read(content, tmp_path, isolation="read_committed")
    records = read(content, tmp_path, isolation="read_committed", rows="records")

    assert [row["base_offset"] for row in committed] == [2, 6]
    assert sum(row["record_count"] for row in committed) == len(records) == 3
    assert len(read(content, tmp_path)) == len(content)


@pytest.mark.parametrize(
    ("options", "bases"),
    [
        ({"endingTimestamp": "50"}, [0, 4]),
        ({"endingTimestamp": "1"}, []),
        ({"startingTimestamp": "101"}, [2]),
        ({"startingTimestamp": "20", "endingTimestamp": "60"}, [4]),
        ({"where": "timestamp < '1970-01-01 00:00:00.020' AND offset > 0"}, []),
        ({"where": "timestamp < '1970-01-01 00:00:00.020' OR offset > 4"}, [0, 4, 6]),
        ({"where": "timestamp != '1970-01-01 00:00:00.100'"}, [0, 2, 4]),
    ],
)
def test_a_batch_is_given_where_one_of_its_records_has_such_a_time(
    options: dict[str, str], bases: list[int], tmp_path: Path
) -> None:
    content = [at(0, 10, 100), at(2, 200, 100), at(4, 40, 100), at(6, 100)]

    assert [row["base_offset"] for row in read(content, tmp_path, **options)] == bases


@pytest.mark.parametrize(
    ("where", "bases"),
    [
        ("key = 'b'", [0, 2]),
        ("key = 'b' AND offset > 1", [2]),
        ("key IS NULL", [4]),
        ("key != 'a' AND timestamp_ms >= 0", [0, 2]),
        ("key LIKE 'c%' OR offset = 5", [4]),
    ],
)
def test_a_batch_is_given_where_one_of_its_records_has_such_a_key(where: str, bases: list[int], tmp_path: Path) -> None:
    keys = [[b"a", b"b"], [b"b", b"b"], [None, b"a"]]
    content = [
        batch(base_offset=2 * at, records=[record(offset_delta=each, key=key) for each, key in enumerate(pair)])
        for at, pair in enumerate(keys)
    ]

    assert [row["base_offset"] for row in read(content, tmp_path, where=where)] == bases
    unknown = read(content, tmp_path, rows="records", columns="offset", where=where)
    assert {row["offset"] // 2 * 2 for row in unknown} <= {*bases}


def test_a_time_that_is_null_in_a_row_fulfils_nothing(tmp_path: Path) -> None:
    beyond = batch(records=[record()], base_timestamp=BEYOND_A_TIMESTAMP, max_timestamp=BEYOND_A_TIMESTAMP)
    content = [beyond, at(1, 5)]

    for options in ({"startingTimestamp": "0"}, {"where": "timestamp != '2026-01-01'"}, {"endingTimestamp": "9"}):
        assert [row["base_offset"] for row in read(content, tmp_path, **options)] == [1]
        assert [row["offset"] for row in read(content, tmp_path, rows="records", **options)] == [1]


def test_what_cannot_be_decoded_may_be_asked_for(tmp_path: Path) -> None:
    content = [at(0, 10), batch(base_offset=1, section=b"nonsense", record_count=1, attributes=int(Codec.ZSTD))]
    options = {"startingTimestamp": "-5", "endingTimestamp": "-3"}

    [told] = read([*content[:1], b"".join(content[1:])], tmp_path, **options)

    assert told["base_offset"] == 1
    assert "cannot be read" in told["corrupt"]
    assert read(content, tmp_path, mode="DROPMALFORMED", **options) == []
    with pytest.raises(CorruptBatchError, match="cannot be read"):
        read(content, tmp_path, mode="FAILFAST", **options)
