"""A broker of ours registers with a real controller, stays through what happens to either, and leaves in order."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from logstore.directory.log_directories import LogDirectories
from logstore.topic_partition import TopicPartition
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.lifecycle.broker_agent import BrokerAgent
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError, NotInTimeError, RefusedByControllerError
from replication.cluster.broker.lifecycle.lifecycle import BrokerState
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from replication.records.metadata.metadata_log import read_metadata
from replication.records.metadata.metadata_version import METADATA_VERSION_FEATURE, MetadataVersion
from replication.records.metadata.records import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from replication.records.metadata.transactions import committed
from tests.data.replicas import PROJECT
from tests.docs.examples import blocks_of
from tests.oracle.cluster import CONTROLLER, KafkaCluster
from tests.replication.cluster.broker.member import (
    SECONDS,
    SESSION_MS,
    Agents,
    Ear,
    controllers,
    create_topic,
    format_root,
    run,
    settings,
    wait_until,
)

NEW_IDS = count(10)
"""One for each test: none waits until another's session has run out."""
IN_ORDER = [
    BrokerState.STARTING,
    BrokerState.RECOVERY,
    BrokerState.RUNNING,
    BrokerState.PENDING_CONTROLLED_SHUTDOWN,
    BrokerState.SHUTTING_DOWN,
]


@pytest.fixture
def agent(cluster: KafkaCluster) -> Iterator[Agents]:
    with closing(Agents(cluster)) as agents:
        yield agents


def root_with_a_log(path: Path, broker_id: int) -> Path:
    """Format a root that has held a log: of one without any the next start cannot say whether it was emptied."""
    format_root(path, broker_id)
    with LogDirectories.open([path], replicated=True) as directories:
        directories.create(TopicPartition("kept", 0))
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return root_with_a_log(tmp_path / "ours", next(NEW_IDS))


@pytest.fixture
def directories(root: Path) -> Iterator[LogDirectories]:
    with LogDirectories.open([root], replicated=True) as directories:
        yield directories


def records_of(cluster: KafkaCluster, member: BrokerAgent) -> list[object]:
    """What the controller's own log says of one incarnation."""
    identity = (member.identity.broker_id, member.broker_epoch)
    batches = read_metadata(cluster.log_dir(CONTROLLER) / "__cluster_metadata-0")
    kinds = RegisterBrokerRecord | BrokerRegistrationChangeRecord
    every = [record for batch in batches for record in batch.records if isinstance(record, kinds)]
    return [record for record in every if (record.broker_id, record.broker_epoch) == identity]


def names_of(refusals: list[Exception]) -> set[str]:
    """Kafka's names for what the controller answered."""
    return {error.name for error in refusals if isinstance(error, RefusedByControllerError)}


@contextmanager
def heartbeats_held_back(member: BrokerAgent) -> Iterator[None]:
    """Let the broker fall silent, as one that hangs."""
    with member._lifecycle._changed:
        yield


def lead(cluster: KafkaCluster, member: BrokerAgent, topic: str) -> None:
    """Let our broker lead a partition whose other replica Kafka's broker holds."""
    create_topic(cluster, topic, [member.identity.broker_id, 1])
    assert member.metadata.wait_for(lambda image: topic in image.topics.by_name, SECONDS)
    with member.metadata.image() as image:
        assert image.topics.by_name[topic].partitions[0].leader == member.identity.broker_id


def leader_and_isr(cluster: KafkaCluster, topic: str) -> tuple[int, tuple[int, ...]]:
    image = load_image(cluster.log_dir(CONTROLLER) / "__cluster_metadata-0").image
    partition = image.topics.by_name[topic].partitions[0]
    return partition.leader, partition.isr


def test_it_registers_is_unfenced_and_leaves_in_order(
    cluster: KafkaCluster, agent: Agents, directories: LogDirectories
) -> None:
    ear = Ear()
    member = agent(directories, ear, rack="here")
    run(member)
    assert not member.is_fenced
    member.leave(SECONDS)
    assert ear.states == IN_ORDER
    assert ear.epochs == [member.broker_epoch]
    assert ear.fencings == ["unfenced"]
    assert ear.refusals == []
    registered, *changes = records_of(cluster, member)
    assert isinstance(registered, RegisterBrokerRecord)
    assert registered.incarnation_id == member.incarnation_id
    assert registered.log_dirs == member.identity.directory_ids
    assert registered.rack == "here"
    change = BrokerRegistrationChangeRecord(broker_id=member.identity.broker_id, broker_epoch=member.broker_epoch)
    assert changes == [
        replace(change, fenced=change.UNFENCE),
        replace(change, fenced=change.FENCE),
    ], "it leads nothing, so that nothing has to be moved away first"


RAISED_IN_4_4 = {METADATA_VERSION_FEATURE: MetadataVersion.V4_3_IV0, "share.version": 1}
"""Features of which Kafka 4.4 knows later levels, and the latest before."""


def test_it_says_of_itself_what_kafkas_broker_says(
    cluster: KafkaCluster, agent: Agents, directories: LogDirectories
) -> None:
    member = agent(directories)
    with member:
        member.wait_until_caught_up(SECONDS)
        with member.metadata.image() as image:
            ours, kafkas = image.brokers[member.identity.broker_id], image.brokers[1]
            before = RAISED_IN_4_4 if cluster.release.is_before_4_4 else {}
            capped = {
                name: replace(levels, max_supported_version=before.get(name, levels.max_supported_version))
                for name, levels in ours.features.items()
            }
            assert capped == dict(kafkas.features)
            assert ours.listeners.keys() == kafkas.listeners.keys()
            assert ours.rack == kafkas.rack
            assert len(ours.directories) == len(kafkas.directories)


def test_it_stays_fenced_until_it_is_ready(agent: Agents, directories: LogDirectories) -> None:
    ear = Ear()
    with agent(directories, ear) as member:
        member.wait_until_caught_up(SECONDS)
        with pytest.raises(NotInTimeError, match=r"broker \d+ is RECOVERY after 1 s"):
            member.wait_until_running(1)
        wait_until(member, fenced=True)
    assert ear.states == [BrokerState.STARTING, BrokerState.RECOVERY, BrokerState.SHUTTING_DOWN]


def test_its_image_is_the_controllers(cluster: KafkaCluster, agent: Agents, directories: LogDirectories) -> None:
    member = agent(directories)
    run(member)
    member.leave(SECONDS)
    controllers_image = ClusterImage()
    for batch in committed(read_metadata(cluster.log_dir(CONTROLLER) / "__cluster_metadata-0")):
        if batch.last_offset <= member.metadata.applied_offset:
            controllers_image.replay_all(batch.records)
            last_offset = batch.last_offset
    assert last_offset == member.metadata.applied_offset
    with member.metadata.image() as image:
        assert image == controllers_image
        assert {1, member.identity.broker_id} <= image.brokers.keys()


def test_after_a_controlled_shutdown_its_leaderships_are_elsewhere_and_the_next_start_knows_its_epoch(
    cluster: KafkaCluster, agent: Agents, root: Path
) -> None:
    epochs, ear = [-1], Ear()
    for topic in ("first", "second"):
        with LogDirectories.open([root], replicated=True) as directories:
            member = agent(directories, ear)
            assert member.identity.previous_broker_epoch == epochs[-1]
            run(member)
            lead(cluster, member, topic)
            member.leave(SECONDS)
            directories.broker_epoch = member.broker_epoch
        epochs.append(member.broker_epoch)
        change = BrokerRegistrationChangeRecord(broker_id=member.identity.broker_id, broker_epoch=member.broker_epoch)
        assert records_of(cluster, member)[1:] == [
            replace(change, fenced=change.UNFENCE),
            replace(change, in_controlled_shutdown=change.IN_CONTROLLED_SHUTDOWN),
            replace(change, fenced=change.FENCE),
        ]
        assert leader_and_isr(cluster, topic) == (1, (1,))
    assert epochs == sorted(set(epochs))
    assert names_of(ear.refusals) <= {"DUPLICATE_BROKER_REGISTRATION"}, "Kafka keeps the session until it runs out"


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_replica_stays_eligible_to_lead_where_its_last_start_ended_in_order(
    cluster: KafkaCluster, agent: Agents, root: Path, is_clean: bool
) -> None:
    topic = f"eligible-{is_clean}"
    with LogDirectories.open([root], replicated=True) as directories:
        member = agent(directories)
        run(member)
        create_topic(cluster, topic, [1, member.identity.broker_id], min_insync_replicas="2")
        assert member.metadata.wait_for(lambda image: topic in image.topics.by_name, SECONDS)
        member.leave(SECONDS)
        directories.broker_epoch = member.broker_epoch if is_clean else -1
    with LogDirectories.open([root], replicated=True) as directories:
        member = agent(directories)
        member.start()
        member.wait_until_caught_up(SECONDS)
        with member.metadata.image() as image:
            partition = image.topics.by_name[topic].partitions[0]
    assert partition.isr == (1,)
    assert partition.elr == ((member.identity.broker_id,) if is_clean else ())


def test_the_next_incarnation_waits_until_the_session_has_run_out_and_takes_the_place(
    agent: Agents, directories: LogDirectories
) -> None:
    old_ear, ear = Ear(), Ear()
    old, new = agent(directories, old_ear), agent(directories, ear)
    run(old)
    new.start()
    ear.wait_for(lambda: bool(ear.refusals))
    with heartbeats_held_back(old):
        new.wait_until_caught_up(SECONDS)
    assert names_of(ear.refusals) == {"DUPLICATE_BROKER_REGISTRATION"}
    assert new.broker_epoch > old.broker_epoch
    old_ear.wait_for(lambda: bool(old_ear.refusals))
    assert names_of(old_ear.refusals) == {"STALE_BROKER_EPOCH"}
    assert "another has taken its place" in str(old_ear.refusals[0])
    new.ready_to_unfence()
    new.wait_until_running(SECONDS)


def test_an_id_that_a_live_broker_has_is_refused_and_the_broker_stays(
    cluster: KafkaCluster, agent: Agents, tmp_path: Path
) -> None:
    format_root(tmp_path / "twin", 1)
    ear = Ear()
    with LogDirectories.open([tmp_path / "twin"], replicated=True) as directories:
        member = agent(directories, ear, initial_registration_timeout_ms=2 * SESSION_MS)
        with member, pytest.raises(BrokerStoppedError, match="DUPLICATE_BROKER_REGISTRATION") as stopped:
            member.wait_until_caught_up(SECONDS)
    assert "with this id" in str(stopped.value)
    assert controllers(cluster) in str(stopped.value)
    assert member.broker_epoch == -1
    assert ear.states == [BrokerState.STARTING, BrokerState.SHUTTING_DOWN]
    with member.metadata.image() as image:
        assert not image.brokers[1].fenced
        assert image.brokers[1].incarnation_id != member.incarnation_id


def test_another_clusters_controller_refuses_it(agent: Agents, tmp_path: Path) -> None:
    format_root(tmp_path / "ours", 9, "b3RoZXIgY2x1c3Rlcg")
    ear = Ear()
    with LogDirectories.open([tmp_path / "ours"], replicated=True) as directories:
        member = agent(directories, ear, initial_registration_timeout_ms=SESSION_MS)
        with member, pytest.raises(BrokerStoppedError):
            member.wait_until_caught_up(SECONDS)
    assert any("INCONSISTENT_CLUSTER_ID" in str(error) for error in ear.interruptions)


def test_a_level_that_the_cluster_has_finalized_must_be_offered(agent: Agents, directories: LogDirectories) -> None:
    ear = Ear()
    features = {"metadata.version": range(7, 20)}
    with agent(directories, ear, features=features) as member:
        ear.wait_for(lambda: bool(ear.refusals))
        assert "UNSUPPORTED_VERSION" in str(ear.refusals[0])
        assert "does not offer" in str(ear.refusals[0])
        assert member.state is BrokerState.STARTING


def test_a_lost_session_is_taken_up_again_in_the_same_epoch(agent: Agents, directories: LogDirectories) -> None:
    ear = Ear()
    member = agent(directories, ear)
    run(member)
    with heartbeats_held_back(member):
        wait_until(member, fenced=True)
    wait_until(member, fenced=False)
    assert member.state is BrokerState.RUNNING
    assert ear.epochs == [member.broker_epoch]
    with member.metadata.image() as image:
        assert image.brokers[member.identity.broker_id].epoch == member.broker_epoch
    member.leave(SECONDS)
    assert ear.states == IN_ORDER


def test_it_survives_a_restart_of_the_controller_with_the_same_epoch(
    cluster: KafkaCluster, agent: Agents, directories: LogDirectories
) -> None:
    ear = Ear()
    member = agent(directories, ear)
    run(member)
    for end in (cluster.stop, cluster.kill):
        applied = member.metadata.applied_offset
        end(CONTROLLER)
        ear.wait_for(lambda: bool(ear.interruptions))
        cluster.start(CONTROLLER)
        assert member.metadata.wait_for(lambda _, before=applied: member.metadata.applied_offset > before, SECONDS)
        ear.interruptions.clear()
        wait_until(member, fenced=False)
    assert member.state is BrokerState.RUNNING
    assert ear.epochs == [member.broker_epoch]
    assert set(ear.controllers) == {controllers(cluster)}
    member.leave(SECONDS)
    assert ear.states == IN_ORDER


def test_a_directory_that_fails_or_is_cordoned_is_told(agent: Agents, tmp_path: Path) -> None:
    broker_id = next(NEW_IDS)
    first, second = (format_root(tmp_path / name, broker_id) for name in ("disk-1", "disk-2"))
    with LogDirectories.open([tmp_path / "disk-1", tmp_path / "disk-2"], replicated=True) as directories:
        member = agent(directories)
        run(member)
        member.cordon([first])
        metadata = member.metadata
        assert metadata.wait_for(lambda image: image.brokers[broker_id].cordoned_directories == (first,), SECONDS)
        member.directory_failed(second)
        assert member.metadata.wait_for(lambda image: image.brokers[broker_id].directories == (first,), SECONDS)
        member.leave(SECONDS)


def test_the_example_of_the_documentation_runs(
    cluster: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    root_with_a_log(tmp_path / "broker-9", 9)
    page = (PROJECT / "docs/embedding.md").read_text()
    (example,) = (block.body for block in blocks_of(page) if "BrokerAgent(" in block.body)
    names = {"LogDirectories": LogDirectories, "BrokerIdentity": BrokerIdentity}
    exec(example.replace("controller1:9093", controllers(cluster)), names)  # noqa: S102 - our own page
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line in BrokerState.__members__] == [state.name for state in IN_ORDER]
    with LogDirectories.open([tmp_path / "broker-9"], replicated=True) as directories:
        assert directories.broker_epoch == names["broker"].broker_epoch


def test_a_controller_that_listens_nowhere_lets_the_start_end(directories: LogDirectories) -> None:
    ear = Ear()
    settled = settings(initial_registration_timeout_ms=1_000)
    member = BrokerAgent("127.0.0.1:1", BrokerIdentity.of(directories), settled, observer=ear)
    with member, pytest.raises(BrokerStoppedError):
        member.wait_until_caught_up(SECONDS)
    assert "127.0.0.1:1: cannot connect" in str(ear.interruptions[0])
