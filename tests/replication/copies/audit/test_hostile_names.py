"""Whatever files and directories are called, an audit ends, and shows their names escaped in all that it writes."""

import json
import os
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from replication.copies.audit.examination.copy_examiner import Examiner
from replication.copies.audit.snapshots.snapshot import find_snapshots
from replication.copies.audit.snapshots.work import packed
from replication.copies.audit.spark.examine_job import examining
from tests.replication.cli.command import epochlog
from tests.replication.copies.audit.one_process import plan
from tests.replication.copies.audit.snapshot_roots import batches, write_root

NAMES = {
    b"a\nb.log": "a\\x0ab.log",
    b"\x1b]0;pwned\x07.index": "\\x1b]0;pwned\\x07.index",
    b"\x1b[31mred": "\\x1b[31mred",
    b"<script>alert(1)<b>.log": "<script>alert(1)<b>.log",
    b"\xff\xfe.log": "\\xff\\xfe.log",
    "\u202egol.txt".encode(): "\\xe2\\x80\\xaegol.txt",
    b"\xed\xa0\x80.log": "\\xed\\xa0\\x80.log",
}


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Two brokers' roots, the second of which is called something that is no text; both hold oddly named files."""
    found = [tmp_path / "broker-1", tmp_path / os.fsdecode(b"broker-\xff\x1b[2J")]
    for node, root in enumerate(found, start=1):
        write_root(root, {"t-0": batches(3)}, node=node)
        for name in NAMES:
            Path(os.fsdecode(bytes(root / "t-0") + b"/" + name)).touch()
            Path(os.fsdecode(bytes(root) + b"/" + name)).touch()
        Path(os.fsdecode(bytes(root) + b"/x\x1b[2J\xff\n-0")).mkdir()
    return found


def test_rows_of_any_names_are_text(roots: list[Path]) -> None:
    tasks = plan(find_snapshots(roots))
    numbers = iter([pa.RecordBatch.from_pydict({"id": list(range(len(tasks)))})])

    rows = [
        row
        for batch in examining(list(map(packed, tasks)), partial(Examiner, records=True))(numbers)
        for row in batch.to_pylist()
    ]

    assert {row["replica"] for row in rows} == {"broker-1", "broker-\\xff\\x1b[2J"}
    for row in rows:
        assert row["summary"] is not None or row["topic"] is None, row
        told = {finding["file"] for finding in row["findings"] if finding["kind"] == "unknown-file"}
        assert told == set(NAMES.values()), row
        assert all(finding["message"].isprintable() for finding in row["findings"])


def test_a_whole_audit_goes_on_and_shows_them_escaped(spark: SparkSession, roots: list[Path], tmp_path: Path) -> None:
    del spark
    arguments = (
        *roots,
        "--report",
        tmp_path / "page.html",
        "--output",
        tmp_path / "tables",
        "--history",
        tmp_path / "h",
    )

    text = epochlog("audit", *arguments[:-2])
    told = epochlog("audit", *arguments[:2], "--json", *arguments[-2:])

    assert (text.status, told.status) == (0, 0), text.err
    assert all(line.isprintable() for line in text.out.replace("\t", " ").split("\n"))
    assert "1 identical" in text.out
    files = {finding["file"] for finding in told.document["findings"] if finding["kind"] == "unknown-file"}
    assert files == set(NAMES.values())
    assert {each["name"] for each in told.document["snapshots"]} == {"broker-1", "broker-\\xff\\x1b[2J"}
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "\x1b" not in page
    table = pq.read_table(tmp_path / "tables/parquet/findings").to_pylist()
    assert set(NAMES.values()) <= {finding["file"] for finding in table}
    json.dumps(table, default=str).encode()


@pytest.mark.parametrize("command", ["verify", "epochs", "dump", "advise", "plan", "recover", "truncate"])
@pytest.mark.parametrize("json_wanted", [False, True])
def test_no_command_obeys_a_name(command: str, json_wanted: bool, roots: list[Path], tmp_path: Path) -> None:
    options: dict[str, list[object]] = {
        "advise": [*roots],
        "plan": ["--leader", roots[0], "--follower", roots[1]],
        "recover": [roots[1], "--output", tmp_path / "new"],
        "truncate": [roots[1] / "t-0", "--to", 4, "--output", tmp_path / "new"],
    }
    outcome = epochlog(command, *options.get(command, [roots[1]]), *(["--json"] if json_wanted else []))
    assert "Traceback" not in outcome.err
    shown = (outcome.out + outcome.err).replace("\t", " ").split("\n")
    assert all(line.isprintable() for line in shown), shown
