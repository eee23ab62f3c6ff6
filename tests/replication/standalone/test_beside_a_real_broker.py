"""A directory goes from a broker of ours to Kafka's and back."""

from pathlib import Path

from tests.oracle.broker import Broker
from tests.oracle.release import KafkaRelease
from tests.replication.standalone.alone import alone
from tests.replication.standalone.clients import produce, read


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
