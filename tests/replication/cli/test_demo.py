"""`epochlog demo`: the story of the shipped brokers, which ends in the audit where there is a Spark to run it."""

import sys
from pathlib import Path

import pytest

from replication.audit.spark.sessions import session
from replication.errors import JavaMissingError
from tests.conftest import require_java_for_spark
from tests.replication.cli.command import epochlog


def no_java() -> Path:
    raise JavaMissingError({Path("/opt/java"): "version 11"})


def test_the_story_ends_in_the_audit(tmp_path: Path) -> None:
    require_java_for_spark()
    page = tmp_path / "page.html"
    outcome = epochlog("demo", "--report", page)
    assert outcome.status == 0, outcome.err
    assert "Yes, byte for byte." in outcome.out
    assert "25 copies of 9 partitions" in outcome.out
    assert "diverge-0 forked at offset 300: epoch 4 on broker-1, epoch 5 on broker-2" in outcome.out
    assert "if broker-1 leads, broker-2 truncates to 300 and loses 77 records, 13,539 bytes" in outcome.out
    assert "No damage" in outcome.out
    assert str(page) in outcome.out
    assert page.read_text().count('<svg class="lineage"') == 2


def test_without_java_the_story_is_told_and_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "find_java", no_java)
    outcome = epochlog("demo", "--report", tmp_path / "page.html")
    assert outcome.status == 0, outcome.err
    assert "Yes, byte for byte." in outcome.out
    assert "Java 17 or later" in outcome.out
    assert "/opt/java: version 11" in outcome.out
    assert "apt-get install" in outcome.out
    assert not (tmp_path / "page.html").exists()


def test_without_pyspark_the_story_is_told_and_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    monkeypatch.delitem(sys.modules, "replication.audit.spark.sessions.spark_failure", raising=False)
    outcome = epochlog("demo")
    assert outcome.status == 0, outcome.err
    assert "Yes, byte for byte." in outcome.out
    assert "The package pyspark is missing: install the extra `spark`" in outcome.out
    assert "in a checkout: pip install '.[cli,spark]'" in outcome.out


def test_its_json_has_the_facts_and_what_the_audit_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_java", no_java)
    monkeypatch.chdir(tmp_path)
    facts = epochlog("demo", "--json").document
    assert facts["reconciled"]["equals_what_kafka_left"] is True
    assert facts["reconciled"]["truncate_to"] == 300
    assert facts["audit"] is None
    assert "Java 17 or later" in facts["audit_lacks"]
    assert list(tmp_path.iterdir()) == []
