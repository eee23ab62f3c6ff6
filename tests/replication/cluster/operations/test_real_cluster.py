"""A real cluster is told as its own tools and its controller's log tell it: after failures, elections and moves."""

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import ElectionType
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AdminClient
from kio.schema.alter_partition_reassignments.v0.request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kio.schema.types import BrokerId

from logstore.errors import LogStoreError
from replication.cluster.operations.cluster_reader import read_cluster
from replication.cluster.operations.cluster_view import Aspect, ClusterView
from replication.cluster.operations.partition_view import Condition
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import load_image
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.errors import UnsupportedVersionError
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from replication.wire.messages.request import Request
from tests.data.make_replicas import Story, wait_until
from tests.oracle.cluster import CONTROLLER, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import Outcome, epochlog

SETTINGS = {"initial.broker.registration.timeout.ms": 600_000}
SECONDS = 60
TOOLS = "org.apache.kafka.tools"
FILTERS = {
    Condition.UNAVAILABLE: "unavailable",
    Condition.UNDER_MIN_ISR: "under-min-isr",
    Condition.AT_MIN_ISR: "at-min-isr",
    Condition.UNDER_REPLICATED: "under-replicated",
}
PARTITION_LINE = re.compile(
    r"^\s*Topic: (?P<topic>\S+)\s+Partition: (?P<partition>\d+)\s+Leader: (?P<leader>\S+)"
    r"\s+Replicas: ?(?P<replicas>\S*)\s+Isr: ?(?P<isr>[\d,]*)"
    r"(?:\s+Adding Replicas: ?(?P<adding>[\d,]*)\s+Removing Replicas: ?(?P<removing>[\d,]*))?"
    r"\s+Elr: ?(?P<elr>[\d,]*)\s+LastKnownElr: ?(?P<last_known_elr>[\d,]*)",
    re.MULTILINE,
)


class Told(NamedTuple):
    """What Kafka's tools print of a cluster, and our statuses, by option."""

    topics: str
    filtered: dict[str, str]
    statuses: dict[str, int]
    quorum: str
    replication: str


class Scene:
    """A cluster of three, and what is known of it from four sides."""

    def __init__(self, cluster: KafkaCluster, directory: Path) -> None:
        self.cluster = cluster
        self.story = Story(cluster, 1)
        self._directory = directory

    def view(self) -> ClusterView:
        with ClusterClient(self.cluster.bootstrap()) as client:
            return read_cluster(client)

    def wait(self, is_so: Callable[[ClusterView], bool], what: str) -> ClusterView:
        wait_until(lambda: is_so(self.view()), what)
        return self.view()

    def move(self, topic: str, replicas: list[int]) -> None:
        """Begin to move partition 0, also to a broker that is down, which Kafka's tool refuses."""
        partition = ReassignablePartition(partition_index=0, replicas=tuple(map(BrokerId, replicas)))
        request = AlterPartitionReassignmentsRequest(
            topics=(ReassignableTopic(name=topic, partitions=(partition,)),), timeout=timedelta(seconds=SECONDS)
        )
        with Connection.open(self.cluster.bootstrap(replicas[0])) as connection:
            told = connection.ask(request)
        assert (told.error_code, told.responses[0].partitions[0].error_code) == (ErrorCode.NONE, ErrorCode.NONE)

    def command(self, *options: object) -> Outcome:
        return epochlog("cluster", "--bootstrap", self.cluster.bootstrap(), *options)

    def tool(self, name: str, *options: object) -> str:
        return self.cluster.run_tool(f"{TOOLS}.{name}", "--bootstrap-server", self.cluster.bootstrap(), *options)

    def assert_told_by_the_controllers_log(self) -> None:
        """Compare what the controller wrote with what brokers tell: news take a moment to reach them."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            try:
                written = self._written()
            except LogStoreError:  # a batch was being written while it was copied
                continue
            told = {**seen(self.view()), "metadata": self._metadata()}
            if told == written:
                return
            time.sleep(0.5)
        assert told == written

    def _metadata(self) -> dict[str, Any]:
        """What clients are told, in terms that the controller's log has too."""
        with ClusterClient(self.cluster.bootstrap()) as client:
            told = client.metadata(None)
        return {
            "topics": {name: topic.topic_id for name, topic in told.topics.items()},
            "partitions": {
                (name, number): each[1:5]
                for name, topic in told.topics.items()
                for number, each in topic.partitions.items()
            },
            "brokers": {each.id: (each.host, each.port) for each in told.brokers.values()},
        }

    def assert_told_by_kafkas_tools(self) -> None:
        """Compare with `kafka-topics --describe` and `kafka-metadata-quorum describe`."""
        view, told = self._told_while_nothing_changes()
        assert [described(each) for each in view.partitions] == by_kafka_topics(told.topics)
        for condition, option in FILTERS.items():
            listed = by_kafka_topics(told.filtered[option])
            shown = [described(each) for each in view.partitions if condition in each.conditions]
            assert shown == listed, condition
            assert told.statuses[option] == bool(listed)
        assert view.quorum is not None
        status = told.quorum
        assert f"{view.cluster_id}" in status
        assert re.search(rf"^LeaderId: +{view.quorum.leader_id}$", status, re.MULTILINE)
        assert re.search(rf"^LeaderEpoch: +{view.quorum.leader_epoch}$", status, re.MULTILINE)
        nodes = re.findall(r"^(\d+)\s.*(Leader|Follower|Observer)\s*$", told.replication, re.MULTILINE)
        assert sorted(nodes) == sorted(
            (str(each.id), view.quorum.role(each).capitalize()) for each in view.quorum.replicas
        )

    def _told_while_nothing_changes(self) -> tuple[ClusterView, Told]:
        """Ask the tools, which take seconds, until our view of before is that of afterwards too."""
        deadline = time.monotonic() + SECONDS
        view = self.view()
        while True:
            told = Told(
                topics=self.tool("TopicCommand", "--describe"),
                filtered={
                    option: self.tool("TopicCommand", "--describe", f"--{option}-partitions")
                    for option in FILTERS.values()
                },
                statuses={option: self.command(f"--{option}").status for option in FILTERS.values()},
                quorum=self.tool("MetadataQuorumCommand", "describe", "--status"),
                replication=self.tool("MetadataQuorumCommand", "describe", "--replication"),
            )
            before, view = view, self.view()
            if seen(before) == seen(view) or time.monotonic() > deadline:
                return view, told

    def _written(self) -> dict[str, Any]:
        copy = self._directory / "__cluster_metadata-0"
        shutil.rmtree(copy, ignore_errors=True)
        unused = shutil.ignore_patterns("*index", "*.tmp", "*.snapshot")
        shutil.copytree(self.cluster.log_dir(CONTROLLER) / copy.name, copy, ignore=unused)
        loaded = load_image(copy)
        written = imaged(loaded.image)
        metadata = {
            "topics": written["topics"],
            "partitions": {partition: state[:4] for partition, state in written["partitions"].items()},
            "brokers": {
                number: address for number, (address, _, is_fenced) in written["brokers"].items() if not is_fenced
            },
        }
        return {**written, "quorum": (CONTROLLER, loaded.epoch), "metadata": metadata}


def seen(view: ClusterView) -> dict[str, Any]:
    """What our questions told, in terms that the controller's log has too."""
    assert view.quorum is not None
    return {
        "topics": {each.partition.topic: each.topic_id for each in view.partitions},
        "partitions": {
            each.partition: (
                each.leader,
                each.leader_epoch,
                each.replicas,
                each.isr,
                each.elr,
                each.last_known_elr,
                each.adding,
                each.removing,
            )
            for each in view.partitions
        },
        "brokers": {each.id: (each.address, each.rack, each.is_fenced) for each in view.brokers},
        "quorum": (view.quorum.leader_id, view.quorum.leader_epoch),
    }


def imaged(image: ClusterImage) -> dict[str, Any]:
    """What the controller's log says, in the same terms."""
    return {
        "topics": {topic.name: topic.id for topic in image.topics},
        "partitions": {
            (topic.name, number): (
                state.leader,
                state.leader_epoch,
                state.replicas,
                state.isr,
                state.elr,
                state.last_known_elr,
                state.adding_replicas,
                state.removing_replicas,
            )
            for topic, number, state in image.topics.partitions()
        },
        "brokers": {
            broker.id: ((listener.host, listener.port), broker.rack, broker.fenced)
            for broker in image.brokers.values()
            for listener in broker.listeners.values()
        },
    }


def by_kafka_topics(text: str) -> list[dict[str, str]]:
    """What `kafka-topics --describe` prints of partitions, in order of their names."""
    told = [{name: value or "" for name, value in match.groupdict().items()} for match in PARTITION_LINE.finditer(text)]
    return sorted(told, key=lambda each: (each["topic"], int(each["partition"])))


def described(view: Any) -> dict[str, str]:
    return {
        "topic": view.partition.topic,
        "partition": str(view.partition.partition),
        "leader": str(view.leader) if view.has_leader else "none",
        **{name: ",".join(map(str, getattr(view, name))) for name in ("replicas", "isr", "elr", "last_known_elr")},
        **{name: ",".join(map(str, getattr(view, name))) for name in ("adding", "removing")},
    }


def conditions(view: ClusterView, topic: str, partition: int = 0) -> set[str]:
    return {
        *next(each.conditions for each in view.partitions if each.partition == (topic, partition)),
    }


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(directory / "kafka", release, brokers=3, settings=SETTINGS) as cluster:
        yield Scene(cluster, directory)


def test_a_healthy_cluster_and_its_new_topics(scene: Scene) -> None:
    scene.wait(lambda view: len(view.brokers) == 3 and not view.has_troubles, "all brokers are there")
    scene.story.create("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], min_insync_replicas=2)
    scene.story.create("lonely", [[3], [1]])
    scene.story.create("unclean", [[1, 2]], unclean_leader_election_enable="true", min_insync_replicas=1)
    scene.story.create("moved", [[1, 2]])
    scene.story.create("deleted", [[1, 2]])
    view = scene.wait(lambda view: len(view.partitions) == 8, "all topics are there")
    assert not view.has_troubles
    scene.assert_told_by_the_controllers_log()
    told = scene.command()
    assert (told.status, told.err) == (0, "")
    assert told.out.count("\tactive\t") == 3


def test_a_broker_is_killed_and_another_partition_is_moved_to_it(scene: Scene) -> None:
    scene.cluster.kill(3)
    scene.wait(lambda view: "unavailable" in conditions(view, "lonely"), "broker 3 is missed")
    scene.move("moved", [2, 3])
    view = scene.wait(lambda view: "reassigning" in conditions(view, "moved"), "it moves")
    assert conditions(view, "orders", 2) == {"off-preferred", "under-replicated", "at-min-isr"}
    assert [each.is_fenced for each in view.brokers] == [False, False, True]
    scene.assert_told_by_the_controllers_log()
    scene.assert_told_by_kafkas_tools()
    told = scene.command("--json")
    assert told.status == 1
    assert told.document["conditions"]["unavailable"] == 1
    assert [broker["fenced"] for broker in told.document["brokers"]] == [False, False, True]
    moving = scene.command("--reassigning", "--json").document["partitions"]
    assert [(each["topic"], each["adding_replicas"], each["removing_replicas"]) for each in moving] == [
        ("moved", [3], [1])
    ]
    assert scene.command("--topics", "lonely", "--unavailable").out.splitlines()[1:] == [
        "lonely-0\t\t1\t3\t\t3\t3\t1\tunavailable, under-min-isr, under-replicated"
    ]


def test_older_questions_are_answered_alike_as_far_as_they_go(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    newer, ask = scene.view(), ClusterClient.ask

    def refuse(client: ClusterClient, request: Request[Any]) -> Any:
        if isinstance(request, DescribeClusterRequest | DescribeTopicPartitionsRequest):
            raise UnsupportedVersionError(type(request).__name__, range(1), None)
        return ask(client, request)

    monkeypatch.setattr(ClusterClient, "ask", refuse)
    older = scene.view()
    assert older.partitions == tuple(replace(each, elr=None, last_known_elr=None) for each in newer.partitions)
    assert older.brokers == tuple(replace(each, is_fenced=None) for each in newer.brokers if not each.is_fenced)
    assert [gap.aspect for gap in older.gaps] == [Aspect.FENCED, Aspect.ELR]


def test_an_unclean_election_and_eligible_leaders(scene: Scene) -> None:
    scene.cluster.kill(2)
    scene.wait(lambda view: "under-min-isr" in conditions(view, "orders"), "broker 2 is missed")
    view = scene.view()
    assert [each.elr for each in view.partitions if each.partition.topic == "orders"] == [(2,)] * 3
    scene.assert_told_by_the_controllers_log()
    scene.assert_told_by_kafkas_tools()
    scene.cluster.start(3)
    scene.wait(lambda view: "unavailable" not in conditions(view, "lonely"), "broker 3 is back")
    scene.cluster.kill(1)
    scene.wait(lambda view: "unavailable" in conditions(view, "unclean"), "broker 1 is missed")
    scene.cluster.start(2)
    view = scene.wait(lambda view: "unavailable" not in conditions(view, "unclean"), "broker 2 leads uncleanly")
    assert conditions(view, "unclean") >= {"off-preferred", "under-replicated"}
    scene.assert_told_by_the_controllers_log()
    scene.assert_told_by_kafkas_tools()


def test_leaders_go_back_to_their_preferred_replicas(scene: Scene) -> None:
    scene.cluster.start(1)
    is_settled = {Condition.UNDER_REPLICATED, Condition.REASSIGNING}.isdisjoint
    view = scene.wait(lambda view: is_settled(view.conditions), "all are in sync, and nothing moves")
    assert [each.replicas for each in view.partitions if each.partition.topic == "moved"] == [(2, 3)]
    astray = [each.partition for each in view.partitions if Condition.OFF_PREFERRED in each.conditions]
    told = scene.command("--off-preferred", "--json")
    assert (told.status, len(told.document["partitions"])) == (1, len(astray))
    assert ("unclean", 0) in astray
    scene.assert_told_by_the_controllers_log()
    admin = AdminClient({"bootstrap.servers": scene.cluster.bootstrap()})
    admin.elect_leaders(ElectionType.PREFERRED, [ClientTopicPartition(*each) for each in astray]).result(SECONDS)
    scene.wait(lambda view: not view.has_troubles, "all is well")
    scene.assert_told_by_the_controllers_log()
    scene.assert_told_by_kafkas_tools()
    assert scene.command("--off-preferred").status == 0
    assert scene.command().status == 0


def test_a_topic_is_deleted_and_a_broker_leaves_in_order(scene: Scene) -> None:
    admin = AdminClient({"bootstrap.servers": scene.cluster.bootstrap()})
    admin.delete_topics(["deleted"])["deleted"].result(SECONDS)
    scene.cluster.stop(3)
    scene.wait(lambda view: any(each.is_fenced for each in view.brokers), "broker 3 has left")
    view = scene.wait(lambda view: all(each.partition.topic != "deleted" for each in view.partitions), "it is gone")
    assert len(view.partitions) == 7
    scene.assert_told_by_the_controllers_log()


def test_a_cluster_without_a_controller_tells_what_brokers_know(scene: Scene, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("request.timeout.ms=3000\n")
    scene.cluster.kill(CONTROLLER)
    told = scene.command("--json", "--command-config", properties)
    assert told.status == 2
    assert re.findall(
        r"epochlog: not known: (\w+): \S+: no answer within 3 s; is a controller running\?", told.err
    ) == [
        "quorum",
        "reassignments",
    ]
    document = json.loads(told.out)
    assert (len(document["partitions"]), document["quorum"]) == (7, None)
