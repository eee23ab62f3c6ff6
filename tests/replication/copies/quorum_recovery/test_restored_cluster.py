"""A whole cluster on the recommended copy: real controllers and a broker, with topics and settings."""

import shutil
from pathlib import Path

from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from replication.quorum_recovery import advise_quorum, read_copy
from tests.oracle.release import KafkaRelease
from tests.replication.copies.quorum_recovery.kept_quorums import KEPT, METADATA, controllers, cut_off
from tests.replication.copies.quorum_recovery.real_quorum import BROKER, VOTERS, RealQuorum

SECONDS = 60


def test_a_broker_follows_controllers_that_were_restored(release: KafkaRelease, tmp_path: Path) -> None:
    kept = KEPT[False]
    root = shutil.copytree(kept, tmp_path / "cluster")
    lost = controllers(root)[next(node for node in VOTERS if node != cut_off(kept))]
    copies = [read_copy(place) for place in controllers(kept).values() if place.name != lost.name]
    advice = advise_quorum(copies)
    assert advice.best is not None
    assert advice.misleading == (f"controller-{cut_off(kept)}",)
    shutil.rmtree(lost / METADATA)
    lost.joinpath(METADATA).mkdir()
    quorum = RealQuorum(root, release)
    quorum.restore(advice.best.copy.path, VOTERS)
    try:
        quorum.start_all(VOTERS)
        quorum.start(BROKER)
        admin = AdminClient({"bootstrap.servers": quorum.bootstrap()})
        topics = admin.list_topics(timeout=SECONDS).topics
        assert {name: len(topic.partitions) for name, topic in topics.items()} == {"orders": 3, "invoices": 2}
        asked = ConfigResource(ConfigResource.Type.TOPIC, "orders")
        [described] = admin.describe_configs([asked]).values()
        assert described.result(SECONDS)["retention.ms"].value == "86400000"
        [made] = admin.create_topics([NewTopic("afterwards", 1, 1)]).values()
        made.result(SECONDS)
    finally:
        quorum.close()
    after = read_copy(quorum.log_dir(BROKER))
    assert after.image is not None
    assert {"orders", "invoices", "afterwards"} == set(after.image.topics.by_name)
