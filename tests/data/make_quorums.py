"""Makes `quorum/` and `quorum-of-changing-voters/`: `python -m tests.data.make_quorums VERSION`.

Three controllers and a broker. The leader of the controllers is cut off, appends what nobody else gets, and dies; the
other two elect one of them, and go on with less. So the copy with the highest end offset is the wrong one to restore
from. Half a minute each.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.data.replicas import HERE
from tests.oracle.release import KafkaRelease, release_of
from tests.replication.copies.quorum_recovery.controllers import Controllers
from tests.replication.copies.quorum_recovery.real_quorum import BROKER, METADATA, RealQuorum

SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": 3_000}
LOST = 60
SECONDS = 60


def make(release: KafkaRelease, target: Path, *, is_dynamic: bool) -> None:
    """Write the nodes' directories of the metadata, as their deaths left them, and their meta.properties."""
    with tempfile.TemporaryDirectory() as work:
        quorum = RealQuorum(Path(work), release, is_dynamic=is_dynamic, settings=SNAPSHOTS)
        with quorum:
            _live(quorum)
        shutil.rmtree(target, ignore_errors=True)
        for node in quorum.nodes:
            place = target / quorum.log_dir(node).name
            shutil.copytree(quorum.metadata(node), place / METADATA)
            shutil.copy(quorum.log_dir(node) / "meta.properties", place)
            _drop_preallocated(place / METADATA)


def _live(quorum: RealQuorum) -> None:
    controllers = Controllers(quorum.at_work)
    admin = AdminClient({"bootstrap.servers": quorum.bootstrap()})
    _wait(admin.create_topics([NewTopic("orders", 3, 1), NewTopic("audit-trail", 1, 1)]))
    _wait(admin.create_acls([_acl(f"orders-{name}") for name in ("eu", "us", "asia")]))
    leader = controllers.leader()
    followers = quorum.cut_off(leader)
    controllers.allow_unheard(leader, LOST)
    time.sleep(1)
    quorum.kill(leader)
    for node in followers:
        quorum.resume(node)
    controllers.leader()
    _wait(admin.create_topics([NewTopic("invoices", 2, 1)]))
    retention = ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ConfigResource.Type.TOPIC, "orders", incremental_configs=[retention])
    _wait(admin.incremental_alter_configs([changed]))
    _wait(admin.delete_topics(["audit-trail"]))
    for node in (BROKER, *followers):
        quorum.kill(node)


def _acl(name: str) -> AclBinding:
    rights = (AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourceType.TOPIC, name, ResourcePatternType.LITERAL, "User:billing", "*", *rights)


def _wait(futures: dict[object, object]) -> None:
    for future in futures.values():
        future.result(SECONDS)  # type: ignore[attr-defined]  the client has no types


def _drop_preallocated(partition: Path) -> None:
    """Shorten indexes to their entries, as a stop in order does: 10 MB are allocated, and truncated ones are left."""
    for log in partition.glob("*.log"):
        index, times = log.with_suffix(".index"), log.with_suffix(".timeindex")
        size, content = log.stat().st_size, index.read_bytes().rstrip(b"\0")
        positions = [int.from_bytes(content[at + 4 : at + 8]) for at in range(0, len(content), 8)]
        entries = sum(position < size for position in positions)
        os.truncate(index, 8 * entries)
        os.truncate(times, 12 * entries)


if __name__ == "__main__":
    asked = release_of(sys.argv[1])
    make(asked, HERE / "quorum", is_dynamic=False)
    make(asked, HERE / "quorum-of-changing-voters", is_dynamic=True)
