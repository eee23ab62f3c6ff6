"""`epochlog audit`: the whole way from copies of brokers' directories to exit status, JSON, tables and page."""

import base64
import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import pyarrow.parquet as pq
import pytest

from replication.cli.judging.audit_engines import AuditRun
from replication.copies.audit.pipeline.document import describe
from replication.copies.audit.spark.sessions.java import find_java
from tests.conftest import require_java_for_spark
from tests.data.replicas import cross, replicas
from tests.replication.cli.command import epochlog
from tests.replication.cli.schemas import validate

OFFSETS = Path(__file__).parents[3] / "data/consumer-offsets/__consumer_offsets-0"
LONGEST = 120
"""Seconds after which a process that was to end would not do so any more."""
TABLES = ("partitions", "findings", "segments", "epochs", "batches")


@pytest.fixture(scope="module", autouse=True)
def _java() -> None:
    require_java_for_spark()


@pytest.fixture
def forked(tmp_path: Path) -> Path:
    """Copies of a cluster that forked, with what groups had committed."""
    copies = tmp_path / "copies"
    shutil.copytree(replicas("diverged"), copies)
    for broker in ("broker-1", "broker-2"):
        shutil.copytree(OFFSETS, copies / broker / OFFSETS.name)
    return copies


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_forked_cluster_is_told_in_every_form(forked: Path, tmp_path: Path, engine: str) -> None:
    roots = [forked / f"broker-{number}" for number in (1, 2, 3)]
    report, output, history = tmp_path / "page.html", tmp_path / "tables", tmp_path / "history"
    lines, metrics = tmp_path / "differences.jsonl", tmp_path / "audit.prom"
    written = (
        "--report",
        report,
        "--output",
        output,
        "--history",
        history,
        "--differences",
        lines,
        "--metrics",
        metrics,
    )
    outcome = epochlog("audit", *roots, "--json", "--records", *written, "--engine", engine)
    assert outcome.status == 3, outcome.err
    told = json.loads(outcome.out)
    verdicts = {f"{each['topic']}-{each['partition']}": each["verdict"] for each in told["partitions"]}
    assert {name for name, verdict in verdicts.items() if verdict == "forked"} == {"diverge-0", "hwloss-0"}
    truth = cross("diverged")["partitions"]
    for partition in told["partitions"]:
        known = truth.get(f"{partition['topic']}-{partition['partition']}", {"pairs": {}})["pairs"]
        for pair in partition["pairs"] if known else ():
            expected = known[f"{pair['leader']}->{pair['follower']}"]
            assert pair["relation"] == expected["classification"]
            assert pair["truncate_to"] == expected["truncation_offset"]
            assert (pair["records_lost"], pair["bytes_lost"]) == (expected["records_lost"], expected["bytes_lost"])
    assert {finding["severity"] for finding in told["findings"]} <= {"critical", "info", "warning"}
    assert [(each["kind"], each["replica"], each["topic"], each["offset"]) for each in told["findings"][:2]] == [
        ("committed-records-lost", "broker-1", "diverge", 300),
        ("committed-records-lost", "broker-1", "hwloss", 300),
    ]
    assert told["metrics"]["findings_critical"] == 2
    choices = {each["topic"]: (each["latest_and_longest"], each["least_loss"]) for each in told["partitions"]}
    assert choices["diverge"] == choices["hwloss"] == ("broker-2", "broker-1")
    stranded = {(each["group"], each["committed_offset"], each["truncate_to"]) for each in told["consumer_offsets"]}
    assert stranded == {("billing", 410, 300), ("ledger", 333, 300), ("mail", 302, 300)}
    assert told["metrics"]["bytes"] == sum(each["bytes"] for each in told["snapshots"])
    assert told["history"] is None
    validate("demo", told, part="audit")
    assert report.read_text().count('<figure class="lineage"') == 2
    assert 'epochlog_audit_partitions{verdict="forked"} 2.0' in metrics.read_text()
    differences = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(differences) == 240
    first = min(differences, key=lambda each: (each["topic"], each["offset"]))
    assert (first["topic"], first["offset"], first["kind"]) == ("diverge", 300, "forked")
    assert (base64.b64decode(first["left_key"]), first["left_leader_epoch"]) == (b"diverge-only1-000000", 4)
    assert (base64.b64decode(first["right_key"]), first["right_leader_epoch"]) == (b"diverge-only2-000000", 5)
    assert first["left_timestamp"] == "2026-11-21T07:55:55.699Z"
    assert first["run_at"].endswith("Z")
    for table in TABLES:
        assert pq.read_table(output / "parquet" / table).num_rows == len(lines_of(output / "json" / table))
    for table in ("partitions", "findings"):
        assert sorted(map(in_order, map(json.loads, lines_of(output / "json" / table)))) == sorted(
            map(in_order, told[table])
        )


def in_order(row: dict[str, Any]) -> str:
    """A row of a table, without the columns that say of which run it is."""
    return json.dumps({name: row[name] for name in row.keys() - {"run_id", "run_at"}}, sort_keys=True)


def lines_of(table: Path) -> list[str]:
    return [line for part in sorted(table.glob("part-*.json")) for line in part.read_text().splitlines()]


def let_no_audit_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for start in ("spark.sessions.session.session_for_a_while", "local.auditing.carry_out"):
        monkeypatch.setattr(f"replication.copies.audit.{start}", lambda *_, **__: pytest.fail("an audit was started"))


def test_who_has_no_spark_for_copies_elsewhere_is_told_of_the_engine_that_needs_none(
    forked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AuditRun, "_is_local", lambda *_: False)
    monkeypatch.setitem(sys.modules, "replication.copies.audit.spark.auditing", None)
    outcome = epochlog("audit", forked)
    assert outcome.status == 2
    assert "unless it has --engine local, needs" in outcome.err
    assert "pip install '.[cli,spark]'" in outcome.err


def test_a_healed_cluster_is_sound_and_the_next_run_tells_what_is_new(tmp_path: Path) -> None:
    roots = [shutil.copytree(replicas("healed") / f"broker-{number}", tmp_path / f"b{number}") for number in (1, 2)]
    options = ("--topics", "steady,pay*", "--history", tmp_path / "history")
    outcome = epochlog("audit", *roots, *options, "--output", tmp_path / "tables")
    assert (outcome.status, outcome.err) == (0, ""), outcome.out
    assert "ledger" not in outcome.out
    (roots[1] / "steady-0/leader-epoch-checkpoint").write_text("0\n1\n")
    outcome = epochlog("audit", *roots, *options)
    assert outcome.status == 1
    assert "new: steady-0: damaged (was identical)" in outcome.out
    assert "new: b2: error epoch-checkpoint-unparsable in steady-0, leader-epoch-checkpoint" in outcome.out


def test_trends_are_of_all_runs_that_the_history_has(tmp_path: Path) -> None:
    history, trends = tmp_path / "history", tmp_path / "trends.html"
    options = ("--topics", "diverge,orders", "--history", history, "--trends", trends, "--overwrite")
    for label, runs in (("diverged", "1 audit,"), ("reconciled", "2 audits,")):
        epochlog("audit", replicas(label), *options)
        assert f"<h1>{runs} " in trends.read_text()
    assert "gone: diverge-0: forked" in trends.read_text()

    (history / "audit-1.json").write_text("{")
    epochlog("audit", replicas("reconciled"), *options)
    assert "1 run could not be read" in trends.read_text()


def test_a_history_that_cannot_be_read_is_reported_and_the_next_run_has_another(tmp_path: Path) -> None:
    history = tmp_path / "history"
    history.mkdir()
    (history / "audit-1.json").write_text("{")
    options = ("--topics", "steady", "--history", history, "--json")
    roots = [replicas("healed") / f"broker-{number}" for number in (1, 2)]
    first, second = (epochlog("audit", *roots, *options) for _ in range(2))
    assert (first.status, second.status) == (0, 0)
    assert [each["kind"] for each in first.document["findings"] if each["severity"] == "warning"] == [
        "history-unreadable"
    ]
    assert first.document["history"] is None
    assert [each["kind"] for each in second.document["findings"] if each["severity"] == "warning"] == []
    assert second.document["history"]["new"] == []


def test_what_cannot_be_audited_is_one_line_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replicas("diverged")
    other = shutil.copytree(replicas("healed") / "broker-2", tmp_path / "other")
    again = shutil.copytree(here / "broker-1", tmp_path / "again")
    alone = shutil.copytree(here / "broker-1/codecs-0", tmp_path / "alone/only-0").parent
    page = tmp_path / "page.html"
    page.touch()
    let_no_audit_start(monkeypatch)
    for arguments, words in (
        ((here / "broker-1", tmp_path / "nowhere"), "nowhere"),
        ((here / "broker-1", tmp_path), "log"),
        ((here / "broker-1", here / "broker-1"), "broker-1"),
        ((here / "broker-1", other), "cluster"),
        ((here / "broker-1", again), "both broker 1"),
        ((here / "broker-1", alone), "hold the same partition"),
        ((here / "broker-1", here / "broker-2", "--sample", "0"), "sample"),
        ((here / "broker-1", here / "broker-2", "--topics", "odrers"), "no partition of the topics odrers"),
        ((here / "broker-1", here / "broker-2", "--output", tmp_path), "exists"),
        ((here / "broker-1", here / "broker-2", "--output", page / "tables"), f"{page} is not a directory"),
        (
            (here / "broker-1", here / "broker-2", "--report", tmp_path / "none/page.html"),
            f"no directory {tmp_path}/none",
        ),
        ((here / "broker-1", here / "broker-2", "--report", tmp_path), "is a directory"),
        ((here / "broker-1", here / "broker-2", "--differences", tmp_path / "some.csv"), "ends with none of .parquet"),
        ((here / "broker-1", here / "broker-2", "--history", page), f"{page} is not a directory"),
        ((here / "broker-1", here / "broker-2", "--full"), "without --history all is read anyway"),
        ((here / "broker-1", here / "broker-2", "--rotate", "7"), "without --history all is read anyway"),
        (
            (here / "broker-1", here / "broker-2", "--history", tmp_path / "h", "--full", "--rotate", "7"),
            "--full reads everything in each run",
        ),
        ((here / "broker-1", here / "broker-2", "--trends", page), "it shows the runs that --history keeps"),
        ((here / "broker-1", here / "broker-2", "--engine", "local", "--master", "yarn"), "it is Spark's"),
        ((here / "broker-1", here / "broker-2", "--engine", "spark", "--workers", "2"), "Spark has its own"),
        ((here / "broker-1", here / "broker-2", "--engine", "flink"), "'flink' is not one of"),
        ((here / "broker-1", here / "broker-2", "--workers", "-1"), "-1 is not in the range"),
    ):
        outcome = epochlog("audit", *arguments)
        assert (outcome.status, outcome.out) == (2, ""), arguments
        assert outcome.err.count("\n") == 1, outcome.err
        assert words in outcome.err


@pytest.mark.parametrize(
    ("option", "name"),
    [("--report", "page.html"), ("--differences", "some.jsonl"), ("--output", "new"), ("--history", "runs/all")],
)
def test_nothing_is_written_into_what_is_audited(
    option: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_no_audit_start(monkeypatch)
    one, two = (shutil.copytree(replicas("diverged") / each, tmp_path / each) for each in ("broker-1", "broker-2"))
    (tmp_path / "link").symlink_to(two)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for arguments, place, copy in (
        ((one, two), one / name, one),
        ((f"old={one}", "broker-2"), two / "codecs-0" / name, two),
        ((one, two), tmp_path / "link" / name, two),
        ((tmp_path,), two / name, two),
        ((one / "codecs-0", two / "codecs-0"), one / "codecs-0" / name, one / "codecs-0"),
    ):
        outcome = epochlog("audit", *arguments, option, place)
        assert (outcome.status, outcome.out) == (2, "")
        assert f"{option}: {place} lies in {copy}, which is only read" in outcome.err
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(pytest.fail.Exception, match="an audit was started"):
        epochlog("audit", one / "codecs-0", two / "codecs-0", option, one / f"apart-{name.partition('/')[0]}")


@pytest.mark.parametrize(("engine", "module"), [("local", "local.local_audit"), ("spark", "spark.audit_result")])
def test_what_cannot_be_written_in_the_end_leaves_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, module: str
) -> None:
    output, history = tmp_path / "tables", tmp_path / "history"

    def described_late(*arguments: Any, **options: Any) -> dict[str, Any]:
        output.touch()
        return describe(*arguments, **options)

    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"replication.copies.audit.{module}.describe", described_late)
    monkeypatch.setattr("replication.copies.audit.pipeline.history.History.keep", full)
    options = ("--engine", engine, "--topics", "orders", "--report", "/dev/full", "--output", output)
    outcome = epochlog("audit", replicas("diverged"), "--json", "--history", history, *options)
    assert outcome.status == 2
    assert {each["verdict"] for each in outcome.document["partitions"]} == {"retention"}
    tables, kept, page = outcome.err.splitlines()
    assert tables.startswith(f"epochlog: --output {output} was not written: ")
    full_disk = "No space left on device; make space, or name a place on another disk, and run it again"
    assert kept == f"epochlog: --history {history} was not written, or not completely: {full_disk}"
    assert page == f"epochlog: --report /dev/full was not written, or not completely: {full_disk}"


def test_an_interrupted_audit_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's handler would call Java in the midst of the call that is interrupted, and log a traceback of each."""

    def interrupted(_: str | None) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("replication.copies.audit.spark.sessions.session.session_for_a_while", interrupted)
    before = signal.getsignal(signal.SIGINT)
    try:
        outcome = epochlog("audit", replicas("diverged"), "--engine", "spark")
        assert not logging.getLogger("py4j").isEnabledFor(logging.CRITICAL)
    finally:
        logging.disable(logging.NOTSET)
    assert (outcome.status, outcome.out, outcome.err) == (130, "", "")
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_while_java_starts_leaves_nothing_behind(tmp_path: Path) -> None:
    """Java holds standard output as long as it lives: its end is the end of all."""
    java, started = find_java(), tmp_path / "started"
    (tmp_path / "bin").mkdir()
    (tmp_path / "release").symlink_to(java / "release")
    (tmp_path / "bin/java").write_text(f'#!/bin/sh\ntouch {started}\nexec {java}/bin/java "$@"\n')
    (tmp_path / "bin/java").chmod(0o755)
    command = [sys.executable, "-m", "replication.cli", "audit", str(replicas("diverged")), "--engine", "spark"]
    environment = {**os.environ, "JAVA_HOME": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as audit:
        while not started.exists() and audit.poll() is None:
            time.sleep(0.01)
        audit.send_signal(signal.SIGINT)
        assert (*audit.communicate(timeout=LONGEST), audit.returncode) == (b"", b"", 130)
