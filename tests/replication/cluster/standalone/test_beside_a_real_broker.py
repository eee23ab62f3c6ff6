"""A directory goes from a broker of ours to Kafka's and back."""

from pathlib import Path

import pytest

from logstore import Log
from replication.cluster.standalone.stored_metadata import StoredMetadata
from tests.oracle.broker import Broker
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.standalone.alone import alone
from tests.replication.cluster.standalone.clients import produce, read


def test_a_real_broker_goes_on_where_ours_has_stopped_and_ours_after_it(tmp_path: Path, release: KafkaRelease) -> None:
    root = tmp_path / "logs"
    with alone(root) as ours:
        assert not produce(str(ours.local.address), "orders", [b"ours %d" % number for number in range(300)])
        first = read(str(ours.local.address), "orders")
    assert len(first) == 300
    with Broker(tmp_path, release, is_apart=False) as theirs:
        assert read(theirs.address, "orders") == first
        assert not produce(theirs.address, "orders", [b"theirs %d" % number for number in range(300)])
        second = read(theirs.address, "orders")
    assert second[:300] == first
    with alone(root) as again:
        assert read(str(again.local.address), "orders") == second
        assert not produce(str(again.local.address), "orders", [b"again"])
        assert read(str(again.local.address), "orders")[-1].value == b"again"
    assert "ERROR" not in (tmp_path / "broker.out").read_text()


def test_it_takes_the_metadata_from_a_snapshot_of_ours(
    tmp_path: Path, release: KafkaRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        StoredMetadata, "is_snapshot_due", property(lambda self: self._local.bytes_since_snapshot > 500)
    )
    root = tmp_path / "logs"
    with alone(root) as ours:
        for number in range(10):
            assert not produce(str(ours.local.address), f"orders-{number}", [b"%d" % number])
            ours.controller.take_due_snapshot()
    with Log.reader(root / "__cluster_metadata-0") as log:
        assert log.log_start_offset > 0
    with Broker(tmp_path, release, is_apart=False) as theirs:
        for number in range(10):
            assert [each.value for each in read(theirs.address, f"orders-{number}")] == [b"%d" % number]
        assert not produce(theirs.address, "theirs", [b"one"])
    with alone(root) as again:
        assert [each.value for each in read(str(again.local.address), "theirs")] == [b"one"]
        assert [each.value for each in read(str(again.local.address), "orders-3")] == [b"3"]
    assert "ERROR" not in (tmp_path / "broker.out").read_text()
