"""`epochlog dump --output`: the records of logs as a Parquet file, or nothing."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logstore import LogFile
from logstore.offline.columns.arrow_records import RECORDS
from replication.cli.dumping import record_file
from tests.data.replicas import replicas
from tests.logstore.batches import CONTROL, batch, log, record
from tests.replication.cli.command import epochlog

ROOT = replicas("diverged") / "broker-1"


def test_the_file_has_the_records_of_a_partition(tmp_path: Path) -> None:
    outcome = epochlog("dump", ROOT / "codecs-0", "--output", tmp_path / "codecs.parquet")
    assert (outcome.status, outcome.err) == (0, "")
    table = pq.read_table(tmp_path / "codecs.parquet")
    assert table.schema.equals(RECORDS)
    segments = [LogFile.open(path).to_arrow() for path in sorted((ROOT / "codecs-0").glob("*.log"))]
    assert len(segments) > 1
    assert table.equals(pa.concat_tables(segments))
    assert outcome.out == f"wrote {table.num_rows:,} records to {tmp_path / 'codecs.parquet'}\n"
    assert [each.name for each in tmp_path.iterdir()] == ["codecs.parquet"]


def test_offsets_limit_it_and_large_logs_take_several_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_file, "_BYTES_AT_ONCE", 1)
    file = tmp_path / "some.parquet"
    assert epochlog("dump", ROOT / "codecs-0", "--offsets", "390:410", "--output", file).status == 0
    written = pq.ParquetFile(file)
    assert written.num_row_groups > 1
    assert written.read()["offset"].to_pylist() == list(range(390, 410))


def test_files_are_written_up_to_their_damage_which_is_told(tmp_path: Path) -> None:
    data = log(3)
    (tmp_path / "1.log").write_bytes(data[:-1])
    (tmp_path / "2.log").write_bytes(
        batch(base_offset=9, records=[record()]) + batch(attributes=CONTROL, base_offset=10)
    )
    outcome = epochlog("dump", tmp_path / "1.log", tmp_path / "2.log", "--output", tmp_path / "x.parquet")
    assert outcome.status == 1
    assert f"{tmp_path / '1.log'}: the file ends " in outcome.err
    assert pq.read_table(tmp_path / "x.parquet")["offset"].to_pylist() == [*range(6), 9]


@pytest.mark.parametrize("there", ["file", "link"])
def test_what_exists_is_not_overwritten(tmp_path: Path, there: str) -> None:
    file = tmp_path / "x.parquet"
    if there == "file":
        file.write_bytes(b"mine")
    else:
        file.symlink_to("nowhere")
    outcome = epochlog("dump", ROOT / "codecs-0", "--output", file)
    assert outcome.status == 2
    assert "exists; name a file that does not exist yet" in outcome.err
    assert [each.name for each in tmp_path.iterdir()] == ["x.parquet"]
    assert there == "link" or file.read_bytes() == b"mine"


@pytest.mark.parametrize("wrong", [ROOT, ROOT / "codecs-0" / "partition.metadata", ROOT / "missing.log"])
def test_nothing_is_left_where_the_records_cannot_be_read(tmp_path: Path, wrong: Path) -> None:
    outcome = epochlog("dump", wrong, "--output", tmp_path / "x.parquet")
    assert outcome.status == 2
    assert str(wrong) in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--output", "x.txt"], ["--output", "x.parquet", "--json"]])
def test_only_parquet_is_written_and_nothing_printed_as_json(arguments: list[str]) -> None:
    outcome = epochlog("dump", ROOT / "codecs-0", *arguments)
    assert outcome.status == 2
    assert "name a file that ends with .parquet, and leave out --json" in " ".join(outcome.err.split()) + outcome.out


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "replication.cli.dumping.record_file")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    outcome = epochlog("dump", ROOT / "codecs-0", "--output", tmp_path / "x.parquet")
    assert outcome.status == 2
    assert "`dump` needs pyarrow: install the extra `arrow`" in outcome.err
