"""Salvaged records in files: whole, atomically, and as their formats are."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from epoch.filesystem import FileSystem
from logstore import Codec, Header, PartitionDirectory, RecoveredLog
from logstore.verify import verify
from replication.copies.salvage.files.json_lines import as_json
from replication.salvage import BlockSink, SalvagedRecord, TargetError, open_target, plan_salvage
from tests.replication.copies.salvage.copies import data, salvage

COMMON = data(0, b"common")
HEADERS = (Header("trace", b"\xff"), Header("none", None), Header("empty", b""))
FAR_AHEAD = 1 << 45


def some_records(directory: Path, count: int = 3) -> list[SalvagedRecord]:
    batches = [
        data(2, b"\xff\x00", key=b"k", headers=HEADERS, producer=9, sequence=3, timestamp=5),
        data(2, None, key=b"\xfe", codec=Codec.LZ4, timestamp=FAR_AHEAD),
        *[data(3, "größe".encode(), timestamp=number) for number in range(count)],
    ]
    return salvage(directory, [COMMON], [COMMON, *batches])[0]


def write(path: Path, records: list[SalvagedRecord]) -> None:
    with open_target(path) as take:
        for record in records:
            take(record)


def test_parquet_has_every_member_of_every_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.copies.salvage.files.parquet._RECORDS_AT_ONCE", 2)
    records = some_records(tmp_path)
    write(tmp_path / "records.parquet", records)
    file = pq.ParquetFile(tmp_path / "records.parquet")
    assert file.num_row_groups == 3
    rows = file.read().to_pylist()
    expected = [
        {
            **record._asdict(),
            "headers": [header._asdict() for header in record.headers],
            "timestamp_type": int(record.timestamp_type),
        }
        for record in records
    ]
    assert [{**row, "timestamp": int(row["timestamp"].timestamp() * 1_000)} for row in rows] == expected


def test_parquet_of_nothing_is_a_table_without_rows(tmp_path: Path) -> None:
    write(tmp_path / "records.parquet", [])
    assert pq.read_table(tmp_path / "records.parquet").num_rows == 0


def test_json_lines_have_kcats_names_and_base64_where_bytes_are_no_text(tmp_path: Path) -> None:
    records = some_records(tmp_path)
    write(tmp_path / "records.jsonl", records)
    lines = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert lines == [as_json(record) for record in records]
    assert lines[0] == {
        "topic": "t",
        "partition": 0,
        "offset": 1,
        "tstype": "create",
        "ts": 5,
        "headers": ["trace", None, "none", None, "empty", ""],
        "key": "k",
        "payload": None,
        "leader_epoch": 2,
        "producer_id": 9,
        "producer_epoch": 0,
        "sequence": 3,
        "source": "broker-1",
        "transaction": -1,
        "payload_base64": "/wA=",
        "headers_base64": ["trace", "/w==", "none", None, "empty", ""],
    }
    assert (lines[1]["key"], lines[1]["key_base64"], lines[1]["payload"]) == (None, "/g==", None)
    assert "payload_base64" not in lines[1], "a tombstone"
    assert lines[2]["payload"] == "größe"


def test_a_log_directory_is_sound_and_keeps_keys_headers_and_times(tmp_path: Path) -> None:
    records = some_records(tmp_path, 2_500)
    other = [record._replace(topic="u", partition=3) for record in records[:2]]
    write(tmp_path / "logs", records + other)
    for name, expected in (("t-0", records), ("u-3", other)):
        directory = PartitionDirectory.open(tmp_path / "logs" / name)
        assert list(verify(directory)) == []
        found = list(RecoveredLog.load(directory).records())
        assert [each.offset for each in found] == list(range(len(expected)))
        assert [each[1:] for each in found] == [(r.timestamp, r.key, r.value, r.headers) for r in expected]


@pytest.mark.parametrize("name", ["records.parquet", "records.jsonl", "logs"])
def test_nothing_is_left_of_a_target_that_was_not_finished(name: str, tmp_path: Path) -> None:
    records = some_records(tmp_path / "copies")
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(AttributeError):
        write(place / name, [records[0], None])  # type: ignore[list-item]
    assert list(place.iterdir()) == []
    write(place / name, records)
    assert [each.name for each in place.iterdir()] == [name]
    with pytest.raises(TargetError, match="exists"):
        write(place / name, records)


@pytest.mark.parametrize("name", ["records.parquet", "records.jsonl", "logs"])
def test_what_a_killed_run_with_the_same_process_id_left_is_not_gone_on_with(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in containers, where it is 1 each time."""
    records = some_records(tmp_path / "copies")
    monkeypatch.setattr(os, "getpid", lambda: 1)
    write(tmp_path / f"whole{Path(name).suffix}", records)
    with monkeypatch.context() as patched:
        patched.setattr(FileSystem, "remove_tree", lambda *_: None)
        patched.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(InterruptedError), open_target(tmp_path / name) as take:
            die_after(take(records[0]))
    [part] = tmp_path.glob(".*.part")
    write(tmp_path / name, records)
    assert content(tmp_path / name) == content(tmp_path / f"whole{Path(name).suffix}")
    assert part.exists(), "it may be another's that is still writing"


def die_after(_: object) -> None:
    raise InterruptedError


def content(path: Path) -> list[bytes]:
    logs = sorted(path.rglob("*.log")) if path.is_dir() else [path]
    return [each.read_bytes() for each in logs]


def test_a_target_that_comes_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "records.jsonl"
    with pytest.raises(TargetError, match="exists; name"), open_target(target):
        target.write_text("another's")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["another's"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("records.csv", r"\.parquet"),
        ("records.json", r"\.jsonl"),
        ("nowhere/records.jsonl", "make it first"),
        ("-", "names no file"),
        (".jsonl", "names no file"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything(name: str, words: str, tmp_path: Path) -> None:
    taken: list[Any] = []
    with pytest.raises(TargetError, match=words), open_target(tmp_path / name) as take:
        taken.append(take)
    assert (taken, list(tmp_path.iterdir())) == ([], [])


@pytest.mark.parametrize("name", ["broker-1/records.jsonl", "broker-1/t-0/records.jsonl", "other/../broker-1/logs"])
def test_nothing_is_written_into_a_copy(name: str, tmp_path: Path) -> None:
    for directory in ("broker-1/t-0", "broker-10", "other"):
        (tmp_path / directory).mkdir(parents=True)
    with (
        pytest.raises(TargetError, match="outside of all copies"),
        open_target(tmp_path / name, [tmp_path / "broker-1"]),
    ):
        pass
    with open_target(tmp_path / "broker-10/records.jsonl", [tmp_path / "broker-1"]):
        pass


def test_a_full_disk_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("replication.copies.salvage.files.json_lines.os.fsync", fsync)
    with pytest.raises(TargetError, match=r"records\.jsonl: the disk is full.*make space"):
        write(tmp_path / "records.jsonl", [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [2, 65_536])
def test_parquet_takes_records_as_columns_too(limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.copies.salvage.files.parquet._RECORDS_AT_ONCE", limit)
    monkeypatch.setattr("logstore.offline.columns.parts.BYTES_AT_ONCE", 8)
    records = some_records(tmp_path)
    write(tmp_path / "objects.parquet", records)
    plan = plan_salvage([tmp_path / "broker-0", tmp_path / "broker-1"], "broker-0")
    with open_target(tmp_path / "columns.parquet") as take:
        assert isinstance(take, BlockSink)
        [report] = plan.reports(take)
    columns = pq.read_table(tmp_path / "columns.parquet")
    assert report.salvaged == len(records)
    assert columns == pq.read_table(tmp_path / "objects.parquet")


def test_parquet_takes_both_forms_in_turn(tmp_path: Path) -> None:
    records = some_records(tmp_path)
    plan = plan_salvage([tmp_path / "broker-0", tmp_path / "broker-1"], "broker-0")
    with open_target(tmp_path / "both.parquet") as take:
        take(records[0])
        list(plan.reports(take))
        take(records[1])
    offsets = pq.read_table(tmp_path / "both.parquet")["offset"].to_pylist()
    assert offsets == [each.offset for each in (records[0], *records, records[1])]


def test_what_goes_wrong_with_a_row_group_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replication.copies.salvage.files.parquet._RECORDS_AT_ONCE", 1)
    records = some_records(tmp_path)
    refused = ValueError("refused")
    monkeypatch.setattr(pq.ParquetWriter, "write_table", lambda *_, **__: raise_it(refused))
    with pytest.raises(ValueError, match="refused"):
        write(tmp_path / "records.parquet", records[:1])
    assert not list(tmp_path.glob("*.parquet*"))


def raise_it(error: Exception) -> None:
    raise error
