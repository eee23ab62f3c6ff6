"""`epochlog audit --live`: what it prints and returns, and what it is not given together with."""

from pathlib import Path

import pytest

from replication.copies.audit.local import live_auditing
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.copies.audit.local.calls import MOVING, look_while_it_moves
from tests.replication.copies.audit.local.live_brokers import BUSY, LiveBrokers

ROOTS = tuple(replicas("diverged") / f"broker-{number}" for number in (1, 2, 3))


def test_what_is_known_and_what_is_not_is_told_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, metrics, output = tmp_path / "page.html", tmp_path / "audit.prom", tmp_path / "tables"
    files = ("--report", page, "--metrics", metrics, "--output", output, "--history", tmp_path / "history")
    monkeypatch.setattr(live_auditing, "look", look_while_it_moves)
    with LiveBrokers(tmp_path / "live") as brokers:
        (tmp_path / "live" / MOVING).touch()
        outcome = epochlog("audit", *brokers.roots, "--live", "--patience", "0.3", "--json", *files)
        told = epochlog("audit", *brokers.roots, "--live", "--patience", "0")
    assert (outcome.status, outcome.err) == (2, "")
    document = outcome.document
    assert {each["topic"]: each["verdict"] for each in document["partitions"]} == {
        "busy": "unknown",
        "quiet": "identical",
    }
    live = document["live"]
    assert live["patience"] == 0.3
    assert [(each["topic"], each["partition"]) for each in live["read_again"]] == [("busy", 0)]
    line = f"{live['passes']:,} passes: 1 partition read again, 1 partition unknown as still moving"
    assert f"Running brokers · {line}" in page.read_text()
    assert "audit again: all should agree" in page.read_text()
    assert '<span class="word">--live</span> <span class="word">--report</span>' in page.read_text()
    assert 'epochlog_audit_partitions{verdict="unknown"} 1.0' in metrics.read_text()
    assert {each.name for each in (output / "parquet").iterdir()} == {
        *("partitions", "pairs", "forks", "branches", "findings", "segments", "epochs")
    }
    assert told.status == 2
    assert "\n1 pass: 1 partition unknown as still moving\n" in told.out
    assert "moved-while-read" in told.out


def test_where_all_stands_still_in_the_end_the_status_is_that_of_a_snapshot(tmp_path: Path) -> None:
    with LiveBrokers(tmp_path) as brokers:
        agreeing = epochlog("audit", *brokers.roots, "--live")
        brokers.write(BUSY, 5)
        lagging = epochlog("audit", *brokers.roots, "--live", "--workers", "1")
    assert (agreeing.status, agreeing.err) == (0, "")
    assert "\n1 pass: all stood still\n2 partitions: 2 identical\n" in agreeing.out
    assert (lagging.status, lagging.err) == (1, "")
    assert "busy-0\tlagging\tnot known\tbroker-1" in lagging.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--live", "--engine", "spark"), "--live: brokers of this machine are audited by --engine local alone"),
        (("--live", "--master", "local[2]"), "--live: brokers of this machine are audited by --engine local alone"),
        (("--live", "--workers", "0"), "with --live name 1 or more"),
        (("--live", "--differences", "differences.jsonl"), "audit a snapshot of these topics"),
        (("--live", "--patience", "-1"), "-1.0 is not in the range x>=0"),
        (("--live", "--patience", "nan"), "patience cannot be nan; allowed: a number of seconds from 0 on"),
        (("--patience", "5"), "--patience: without --live all is read once; add that option too"),
    ],
)
def test_what_goes_ill_with_it_is_refused_in_one_line(options: tuple[str, ...], words: str) -> None:
    outcome = epochlog("audit", *ROOTS, *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
