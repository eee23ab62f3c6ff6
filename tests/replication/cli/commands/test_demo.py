"""`epochlog demo`: the story of the shipped brokers, which ends in the audit, and in one with Spark where that runs."""

import sys
from pathlib import Path
from typing import Any

import pytest

from replication.base.errors import JavaMissingError
from replication.cli.commands import demo
from replication.copies.audit.spark.sessions import session
from tests.conftest import require_java_for_spark
from tests.replication.cli.command import Outcome, epochlog


def no_java() -> Path:
    raise JavaMissingError({Path("/opt/java"): "version 11"})


def ensure_audited(outcome: Outcome, page: Path) -> None:
    assert outcome.status == 0, outcome.err
    assert "Yes, byte for byte." in outcome.out
    assert "25 copies of 9 partitions" in outcome.out
    assert "diverge-0 forked at offset 300: epoch 4 on broker-1, epoch 5 on broker-2" in outcome.out
    assert "if broker-1 leads, broker-2 truncates to 300 and loses 77 records, 13,539 bytes" in outcome.out
    assert "No damage" in outcome.out
    assert str(page) in outcome.out
    assert page.read_text().count('<figure class="lineage"') == 2


def test_the_story_ends_in_the_audit_and_spark_agrees(tmp_path: Path) -> None:
    require_java_for_spark()
    page = tmp_path / "page.html"
    outcome = epochlog("demo", "--report", page)
    ensure_audited(outcome, page)
    assert "Started here, it gives the same verdicts and findings." in outcome.out


def test_the_replicas_can_be_unpacked_to_try_commands_on_them(tmp_path: Path) -> None:
    target = tmp_path / "a/replicas"
    outcome = epochlog("demo", "--unpack", target)
    brokers = outcome.out.splitlines()
    assert (outcome.status, brokers[0]) == (0, str(target / "diverged/broker-1"))
    assert epochlog("audit", *brokers[:3]).status == 3
    assert epochlog("demo", "--unpack", tmp_path / "other", "--json").document["unpacked"] == [
        each.replace("a/replicas", "other") for each in brokers
    ]
    outcome = epochlog("demo", "--unpack", target)
    assert (outcome.status, outcome.out) == (2, "")
    assert "a/replicas already exists; name a directory that does not exist yet" in outcome.err


def test_that_spark_does_not_agree_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(cluster: Path) -> dict[str, Any]:
        return {**demo._audit(cluster), "findings": []}

    monkeypatch.setattr(demo, "_audit_with_spark", other)
    assert "that is a bug" in epochlog("demo", "--report", tmp_path / "page.html").out


def test_without_java_there_is_an_audit_and_it_says_how_to_get_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "find_java", no_java)
    outcome = epochlog("demo", "--report", tmp_path / "page.html")
    ensure_audited(outcome, tmp_path / "page.html")
    assert "Java 17 or later" in outcome.out
    assert "/opt/java: version 11" in outcome.out
    assert "apt-get install" in outcome.out


def test_without_pyspark_there_is_an_audit_and_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    monkeypatch.delitem(sys.modules, "replication.copies.audit.spark.sessions.spark_failure", raising=False)
    outcome = epochlog("demo", "--report", tmp_path / "page.html")
    ensure_audited(outcome, tmp_path / "page.html")
    assert "The package pyspark is missing: install the extra `spark`" in outcome.out
    assert "in a checkout: pip install '.[cli,spark]'" in outcome.out


def test_its_json_has_the_facts_and_what_spark_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_java", no_java)
    monkeypatch.chdir(tmp_path)
    facts = epochlog("demo", "--json").document
    assert facts["reconciled"]["equals_what_kafka_left"] is True
    assert facts["reconciled"]["truncate_to"] == 300
    assert facts["audit"]["metrics"]["copies"] == 25
    assert facts["spark_agrees"] is None
    assert "Java 17 or later" in facts["spark_lacks"]
    assert list(tmp_path.iterdir()) == []
