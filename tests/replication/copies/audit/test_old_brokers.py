"""What brokers 0.10 to 2.0 left is audited, explained and recovered like any other log."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from logstore import TopicPartition
from replication.audit import audit_locally
from replication.cli.main import app
from replication.explain import Sources, Why
from tests.data.old_brokers import VERSIONS, old_broker, old_records

pytestmark = pytest.mark.parametrize("version", VERSIONS)


def test_a_killed_brokers_copy_is_the_same_as_one_that_was_recovered(version: str, tmp_path: Path) -> None:
    shutil.copytree(old_broker(version, "recovered"), tmp_path / "broker-2")
    properties = tmp_path / "broker-2/meta.properties"
    properties.write_text(properties.read_text().replace("broker.id=1", "broker.id=2"))

    document = audit_locally([old_broker(version, "killed"), tmp_path / "broker-2"], workers=0).document

    verdicts = {each["topic"]: each["verdict"] for each in document["partitions"]}
    # What is Kafka's own went on after the restart: a group committed again.
    assert {each for topic, each in verdicts.items() if not topic.startswith("__")} == {"identical"}
    assert {each["severity"] for each in document["findings"]} <= {"info"}


@pytest.mark.parametrize("state", ["killed", "recovered"])
def test_what_is_not_there_of_them_was_compacted(version: str, state: str) -> None:
    sources = Sources.open([old_broker(version, state)])
    for name, records in old_records(version).items():
        partition = TopicPartition(name.removesuffix("-0"), 0)
        explained = sources.explain(partition, is_compacted=name.startswith("compacted"), committed_only=False)
        reasons = dict(explained.counts)
        assert reasons.pop(Why.DELIVERED) == len(records), name
        assert {*reasons} <= {Why.COMPACTED if name.startswith("compacted") else Why.CONTROL}, (name, reasons)


def test_recover_drops_nothing_of_a_killed_one(version: str, tmp_path: Path) -> None:
    source, output = old_broker(version, "killed"), tmp_path / "recovered"
    done = CliRunner().invoke(app, ["recover", str(source), "--all", "--output", str(output), "--json"])
    document = json.loads(done.stdout)
    assert document["errors"] == []
    assert {each["dropped_bytes"] for each in document["partitions"]} == {0}
    for log in source.glob("*/*.log"):
        assert (output / log.relative_to(source)).read_bytes() == log.read_bytes()
