"""A cluster whose metadata.version is raised begins to say where replicas lie: those of before are told then."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

from replication.records.metadata.image_changes import PartitionId
from tests.replication.cluster.broker.replicas.managed_broker import ME, OTHER, TOPIC, Broker, changed, made, registered

FIRST = UUID(int=1_001)


def test_nothing_is_told_before_the_controller_has_the_brokers_directories(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "one")
    broker.take(registered(ME), *made(ME, ME, OTHER))
    broker.take(changed(isr=(ME,)))
    assert broker.replicas.unassigned == {}
    broker.take(replace(registered(ME), log_dirs=(FIRST,)))
    assert broker.replicas.unassigned == {PartitionId(TOPIC, 0): FIRST}
    broker.replicas.close()
    broker.directories.close()


def test_what_the_metadata_says_then_is_not_told_again(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "one")
    broker.take(replace(registered(ME), log_dirs=(FIRST,)), *made(ME, ME, OTHER))
    assert broker.replicas.unassigned.pop(PartitionId(TOPIC, 0)) == FIRST
    broker.take(changed(directories=(FIRST, UUID(int=50))))
    broker.take(changed(isr=(ME,)))
    assert broker.replicas.unassigned == {}
    broker.replicas.close()
    broker.directories.close()
