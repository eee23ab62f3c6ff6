"""`epochlog reconcile`: a table of Parquet beside the logs that it was filled from."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog

COPIES = [replicas("diverged") / f"broker-{number}" for number in (1, 2, 3)]
GIVEN = [*range(150), *range(160, 377)]
"""What a consumer of diverge-0 is given, but for ten records."""


@pytest.fixture
def sink(tmp_path: Path, spark: SparkSession) -> Path:
    assert spark.version
    return tmp_path / "sink"


def write(sink: Path, offsets: list[int], epochs: list[int] | None = None) -> None:
    sink.mkdir()
    columns: dict[str, object] = {"partition": [0] * len(offsets), "offset": offsets}
    if epochs is not None:
        columns["leader_epoch"] = epochs
    pq.write_table(pa.table(columns), sink / "part.parquet")


def test_findings_are_printed_with_their_evidence(sink: Path) -> None:
    rows = [(offset, 3 if offset < 300 else 5) for offset in GIVEN] + [(20, 3), (410, 4), (600, 5)]
    write(sink, [offset for offset, _ in rows], [epoch for _, epoch in rows])
    outcome = epochlog("reconcile", *COPIES, "--table", sink, "--topics", "diverge", "--window", "10s")
    assert outcome.status == 1
    assert f"{sink} has 370 rows of these logs:" in outcome.out.replace("\n", " ")
    for line in (
        "            368 delivered",
        "1 row too many: of offsets that it has more than once",
        "             10 missing",
        "  diverge-0, 150 to 159: missing",
        "  diverge-0, 20: delivered; 2 rows of each",
        "  diverge-0, 410: truncated; written under leader epoch 4; the leader of epoch 5 did not have it;",
        "  diverge-0, 600: never written; no copy has it, nor any offset behind it",
    ):
        assert line in outcome.out.splitlines()
    [heads, *windows] = [line.split("\t") for line in outcome.out.splitlines() if "\t" in line]
    assert heads == ["window", "delivered", "missing", "duplicates", "wrong rows", "unread"]
    assert [sum(int(row[place]) for row in windows) for place in range(1, 6)] == [367, 10, 1, 2, 0]


def test_json_has_counts_and_findings(sink: Path) -> None:
    write(sink, GIVEN)
    document = epochlog("reconcile", *COPIES, "--table", sink, "--topics", "diverge", "--json").document
    [finding] = document["findings"]
    assert (finding["first_offset"], finding["last_offset"], finding["status"]) == (150, 159, "missing")
    assert {(row["status"], row["offsets"], row["rows"], row["doubtful"]) for row in document["counts"]} == {
        ("delivered", 367, 367, 77),
        ("missing", 10, 0, 0),
        ("truncated", 43, 0, 0),
    }
    assert (document["errors"], document["findings_left_out"], document["window"]) == ([], 0, None)


def test_a_table_that_has_each_record_once_is_clean(sink: Path) -> None:
    write(sink, list(range(377)))
    outcome = epochlog("reconcile", *COPIES, "--table", sink, "--topics", "diverge")
    assert (outcome.status, outcome.err) == (0, "")
    assert "77 offsets in doubt: other records were cut off there" in outcome.out


def test_a_log_of_which_a_part_was_not_read_fails_and_nothing_of_it_is_missing(sink: Path, tmp_path: Path) -> None:
    copy = tmp_path / "broker-1"
    (copy / "diverge-0").mkdir(parents=True)
    content = bytearray((COPIES[0] / "diverge-0/00000000000000000000.log").read_bytes())
    content[16_262 + 100] ^= 0xFF  # in the second batch, from 93 to 184
    (copy / "diverge-0/00000000000000000000.log").write_bytes(content)
    write(sink, list(range(93)))
    outcome = epochlog("reconcile", copy, "--table", sink, "--topics", "diverge", "--json")
    assert outcome.status == 2
    assert {row["status"]: row["offsets"] for row in outcome.document["counts"]} == {"delivered": 93, "unread": 327}
    assert outcome.document["findings"] == []


def test_all_ranges_and_counts_are_written(sink: Path, tmp_path: Path) -> None:
    write(sink, GIVEN)
    arguments = "reconcile", *COPIES, "--table", sink, "--topics", "diverge", "--output", tmp_path / "found"
    assert epochlog(*arguments).status == 1
    ranges = pq.read_table(tmp_path / "found/ranges").to_pylist()
    assert sum(row["last_offset"] - row["first_offset"] + 1 for row in ranges if row["status"] != "truncated") == 377
    assert sum(row["rows"] for row in pq.read_table(tmp_path / "found/counts").to_pylist()) == len(GIVEN)
    again = epochlog(*arguments)
    assert (again.status, "name a directory that does not exist yet" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--window", "1w"], "'1w' is no time such as 30s, 15m, 1h or 1d"),
        (["--columns", "offset"], "'offset' is no NAME=COLUMN, such as offset=kafka.offset"),
        (["--columns", "offset=o"], "the column of the offset cannot be 'o'; allowed: a column of the table: "),
        (["--topics", "nowhere"], "nowhere"),
    ],
)
def test_arguments_that_cannot_be_are_refused(sink: Path, arguments: list[str], problem: str) -> None:
    write(sink, GIVEN)
    outcome = epochlog("reconcile", *COPIES, "--table", sink, "--topics", "diverge", *arguments)
    if "--topics" in arguments:
        outcome = epochlog("reconcile", *COPIES, "--table", sink, *arguments)
    assert (outcome.status, problem in outcome.err) == (2, True)


def test_a_table_that_spark_cannot_read_is_told_with_what_to_do(spark: SparkSession) -> None:
    assert spark.version
    outcome = epochlog("reconcile", *COPIES, "--table", "lake.kafka.sink")
    assert outcome.status == 2
    assert "lake.kafka.sink: Spark cannot read this table: " in outcome.err
    assert "spark-defaults.conf of SPARK_CONF_DIR" in outcome.err
