"""What a real coordinator and ours answer to the same requests, in the same order."""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import FrozenLog
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.group_state import GroupState
from replication.cluster.broker.groups.saved_groups import SavedGroups
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import PartitionRecord, TopicRecord
from replication.wire.client.connection import Connection
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.metadata import MetadataRequest
from tests.campaign import Campaign
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.groups.sides import SECONDS_TO_ANSWER, Ids, Ours, Slot, plain, request
from tests.replication.cluster.broker.groups.steps import (
    DESCRIBE,
    FETCH,
    FIND,
    HEARTBEAT,
    JOIN,
    LIST,
    SYNC,
    TOPIC,
    Client,
    Steps,
    Write,
)

CAMPAIGN = Campaign("groups: requests beside a real coordinator", full=1_000, share=20)
STEPS = 30
CLIENTS = 4
SECONDS_TO_ARRIVE = 0.03
MAX_SIZE = 3
PARTITIONS = 2
SETTINGS = GroupSettings(initial_rebalance_delay=0, max_size=MAX_SIZE)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[KafkaCluster]:
    """A broker with the topic that groups read."""
    directory = tmp_path_factory.mktemp("groups")
    settings = {"group.max.size": MAX_SIZE, "group.coordinator.rebalance.protocols": "classic,consumer"}
    with KafkaCluster(directory, release, settings=settings) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        admin.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)])[TOPIC].result(60)
        wait_for_coordinator(cluster)
        yield cluster


@pytest.fixture(scope="module")
def image(cluster: KafkaCluster) -> ClusterImage:
    """The topic as our broker knows it."""
    return image_of(topic_id(cluster))


def image_of(topic: UUID) -> ClusterImage:
    image = ClusterImage()
    image.replay(TopicRecord(name=TOPIC, topic_id=topic))
    for number in range(PARTITIONS):
        image.replay(
            PartitionRecord(
                partition_id=number,
                topic_id=topic,
                replicas=(1,),
                isr=(1,),
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
            )
        )
    return image.frozen()


def wait_for_coordinator(cluster: KafkaCluster) -> None:
    """Let the broker create the topic that it keeps groups in, and load it."""
    heartbeat = request(HEARTBEAT, 0, group_id="none", generation_id=1, member_id="nobody")
    with Connection.open(cluster.bootstrap()) as connection:
        for _ in range(SECONDS_TO_ANSWER * 5):
            connection.ask(request(FIND, 0, key="none"))
            if connection.ask(heartbeat).error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                return
            time.sleep(0.2)
    raise TimeoutError("the broker does not become a coordinator")


def topic_id(cluster: KafkaCluster) -> UUID:
    with Connection.open(cluster.bootstrap()) as connection:
        found = connection.ask(MetadataRequest(topics=(TOPIC,)))
    return found.topics[TOPIC].topic_id or UUID(int=0)


class Run:
    """One random sequence."""

    def __init__(self, seed: object, slots: list[Slot], ours: Ours, topic: UUID) -> None:
        self.rng = random.Random(f"{seed}")
        self.group = f"group-{seed}-{self.rng.randrange(2**32):x}"
        self.steps = Steps(self.rng, self.group, topic)
        self.probe, *self.slots = slots
        self.ours = ours
        self.ids = Ids()
        self.clients = [Client() for _ in self.slots]
        self.waiting: dict[int, tuple[int, str, Any]] = {}
        self.leader: str | None = None
        self.protocols: list[str] = []
        self.log: list[str] = []
        self.compared = self.unwritten = 0

    def run(self) -> bool:
        """Send requests; return False where the two chose between equals differently."""
        for _ in range(STEPS):
            free = [place for place in range(len(self.slots)) if place not in self.waiting]
            if not free:
                return True
            if not self._step(self.rng.choice(free)):
                return False
        return True

    def _step(self, place: int) -> bool:
        client = self.clients[place]
        others = [each for each in self.clients if each is not client]
        waiting = {member for _, member, _ in self.waiting.values()} - {""}
        waiting |= {self.clients[each].instance or "" for each in self.waiting}
        member, write = self.steps.draw(client, others, waiting)
        return self.ask(place, write, member)

    def ask(self, place: int, write: Write, member: str = "") -> bool:
        """Send a request to both; return False where the two chose between equals differently."""
        real = write(self.ids.real_id)
        self.log.append(f"{place}: {plain(write(str), {})} v{real.__version__}")
        self.slots[place].connection.send(real)
        asked = self.ours.ask(write(self.ids.our_id))
        self.waiting[place] = real.__api_key__, member, asked
        if asked.answer is None:
            self._let_it_arrive()
        return self._settle()

    def let_pass(self, seconds: float) -> None:
        """Let time pass for both."""
        time.sleep(seconds)
        self.ours.clock.now += seconds
        self.ours.coordinator.expire(self.group)
        assert self._settle()

    def _let_it_arrive(self) -> None:
        """Wait until the broker has taken a request that waits: others must not overtake it on their connections."""
        time.sleep(SECONDS_TO_ARRIVE)
        question = request(DESCRIBE, 5, groups=(self.group,), include_authorized_operations=False)
        deadline = time.monotonic() + SECONDS_TO_ANSWER
        mine = plain(self.ours.ask(question).answer, self.ids.ours)
        while (theirs := plain(self.probe.connection.ask(question), self.ids.real)) != mine:
            if self._is_unwritten(theirs["groups"]):
                return
            assert time.monotonic() < deadline, f"ours: {mine}\nreal: {theirs}\n" + "\n".join(self.log)
            time.sleep(SECONDS_TO_ARRIVE)

    def _settle(self) -> bool:
        """Take all answers that ours has given, and see that the real broker gives the same and no others."""
        answers = []
        for place, (key, _, asked) in list(self.waiting.items()):
            ours = asked.answer
            if ours is not None:
                real = self.slots[place].real_answer(SECONDS_TO_ANSWER)
                assert real is not None, f"no answer like {ours}\n" + "\n".join(self.log)
                self.ids.learn(real, ours)
                answers.append((place, key, real, ours))
                del self.waiting[place]
        for place in self.waiting:
            early = self.slots[place].real_answer(0.002)
            assert early is None, f"{early} early for {place}\n" + "\n".join(self.log)
        return all(self._compare(*each) for each in answers)

    def _compare(self, place: int, key: int, real: Any, ours: Any) -> bool:
        theirs, mine = plain(real, self.ids.real), plain(ours, self.ids.ours)
        if key == LIST:
            theirs, mine = self._own(theirs), self._own(mine)
        self.log.append(f"   {place} told {theirs}")
        if key in {DESCRIBE, LIST} and mine != theirs and self._is_unwritten(theirs["groups"]):
            self.unwritten += 1
            return True
        if key == JOIN and theirs["leader"] != mine["leader"] and self.leader not in {theirs["leader"], mine["leader"]}:
            return False
        assert mine == theirs, f"ours: {mine}\nreal: {theirs}\n" + "\n".join(self.log)
        self.compared += 1
        self._take(self.clients[place], key, theirs)
        return True

    def _is_unwritten(self, groups: list[dict[str, Any]]) -> bool:
        """Whether the broker tells of no such group: it does not until it has written a record about it."""
        return all(each.get("group_state") == "Dead" for each in groups if each["group_id"] == self.group)

    def _own(self, answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"groups": [each for each in answer["groups"] if each["group_id"] == self.group]}

    def _take(self, client: Client, key: int, told: dict[str, Any]) -> None:
        """Let a client know what it was told."""
        error = told.get("error_code", "none").lower()
        if key == JOIN and error == "none":
            client.member, client.generation, client.phase = told["member_id"], told["generation_id"], "joined"
            client.leads, client.protocol = told["leader"] == told["member_id"], told["protocol_name"]
            client.members = [each["member_id"] for each in told["members"]]
            self.leader = told["leader"]
            if told["protocol_name"] not in self.protocols:
                self.protocols.append(told["protocol_name"])
        elif key == JOIN and error == "member_id_required":
            client.member, client.phase = told["member_id"], "told"
        elif key == SYNC and error == "none":
            client.phase = "synced"
        elif error in {"unknown_member_id", "fenced_instance_id", "group_max_size_reached"}:
            client.member, client.phase, client.generation = "", "out", -1
        elif error in {"rebalance_in_progress", "illegal_generation"}:
            client.phase = "told"


def test_random_requests_are_answered_as_by_a_real_coordinator(cluster: KafkaCluster, image: ClusterImage) -> None:
    topic = topic_id(cluster)
    compared = unwritten = unlike = 0
    with ExitStack() as stack:
        for number in range(CAMPAIGN.count):
            slots = [stack.enter_context(Slot(cluster.bootstrap())) for _ in range(CLIENTS + 1)]
            run = Run(f"{CAMPAIGN.seed}-{number}", slots, Ours(cluster.bootstrap(), image, SETTINGS), topic)
            unlike += not run.run()
            compared, unwritten = compared + run.compared, unwritten + run.unwritten
            stack.pop_all().close()
    CAMPAIGN.report(CAMPAIGN.count, f"{compared:,} answers", beside=cluster.release)
    assert compared > 10 * CAMPAIGN.count
    assert unwritten < compared / 20
    assert unlike < CAMPAIGN.count / 2


def join(group: str, member: str, *protocols: str, rebalance_seconds: float = 60) -> Any:
    """A JoinGroup of a version in which new members need no id."""
    kind = request_classes(JOIN, 3).JoinGroupRequestProtocol
    return request(
        JOIN,
        3,
        group_id=group,
        member_id=member,
        session_timeout=timedelta(seconds=900),
        rebalance_timeout=timedelta(seconds=rebalance_seconds),
        protocol_type="consumer",
        protocols=tuple(kind(name=name, metadata=b"") for name in protocols),
    )


@pytest.fixture
def run(request: pytest.FixtureRequest, cluster: KafkaCluster, image: ClusterImage) -> Iterator[Run]:
    """Three clients of a group of their own."""
    name = request.node.name
    with ExitStack() as stack:
        slots = [stack.enter_context(Slot(cluster.bootstrap())) for _ in range(4)]
        yield Run(name, slots, Ours(cluster.bootstrap(), image, SETTINGS), topic_id(cluster))


def test_most_votes_decide_on_the_protocol(run: Run) -> None:
    assert run.ask(0, lambda _: join(run.group, "", "range", "sticky"))
    assert run.ask(1, lambda _: join(run.group, "", "sticky", "range"))
    assert run.ask(2, lambda _: join(run.group, "", "sticky", "range"))
    assert run.ask(0, lambda ids: join(run.group, ids("m0"), "range", "sticky"))
    assert not run.waiting
    assert run.protocols == ["range", "sticky"]


def test_who_does_not_join_or_synchronise_in_time_is_left_out(run: Run) -> None:
    seconds = 2.0
    describe = request(DESCRIBE, 5, groups=(run.group,), include_authorized_operations=False)
    run.ask(0, lambda _: join(run.group, "", "range", rebalance_seconds=seconds))
    run.ask(1, lambda _: join(run.group, "", "range", rebalance_seconds=seconds))
    assert list(run.waiting) == [1]
    run.let_pass(1.5 * seconds)
    assert not run.waiting
    assert run.ours.coordinator.describe(run.group).state is GroupState.COMPLETING_REBALANCE
    run.ask(0, lambda _: describe)
    run.let_pass(1.5 * seconds)
    assert run.ours.coordinator.describe(run.group).state is GroupState.EMPTY
    run.ask(0, lambda _: describe)


def commit_in_transactions(cluster: KafkaCluster, group: str) -> None:
    """Commit an offset of each partition in a transaction, and abort the second."""
    address = {"bootstrap.servers": cluster.bootstrap()}
    consumer = Consumer({**address, "group.id": group})
    consumer.subscribe([TOPIC])
    consumer.poll(5)
    producer = Producer({**address, "transactional.id": group})
    producer.init_transactions(60)
    for partition in range(PARTITIONS):
        producer.begin_transaction()
        place = [TopicPartition(TOPIC, partition, 7)]
        producer.send_offsets_to_transaction(place, consumer.consumer_group_metadata(), 60)
        (producer.abort_transaction if partition else producer.commit_transaction)(60)
    consumer.close()


def test_a_stopped_broker_s_groups_are_those_that_it_has_once_it_runs_again(
    cluster: KafkaCluster, image: ClusterImage
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
    for group in ("kept", "deleted"):
        committing = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": group})
        committing.commit(offsets=[TopicPartition(TOPIC, 0, 5, metadata="note", leader_epoch=0)], asynchronous=False)
        committing.close()
    commit_in_transactions(cluster, "transactional")
    admin.delete_consumer_groups(["deleted"])["deleted"].result(60)
    cluster.stop(1)
    ours = Ours(cluster.bootstrap(), image, SETTINGS)
    with FrozenLog.open(cluster.log_dir(1) / "__consumer_offsets-0") as log:
        ours.coordinator.load(SavedGroups.of([log]))
    cluster.start(1)
    wait_for_coordinator(cluster)
    with Connection.open(cluster.bootstrap()) as connection:

        def told(question: Any) -> tuple[Any, Any]:
            return plain(ours.ask(question).answer, {}), plain(connection.ask(question), {})

        listed, really_listed = told(request(LIST, 5, states_filter=(), types_filter=()))
        assert listed == really_listed
        groups = [each["group_id"] for each in listed["groups"]]
        assert {"kept", "transactional"} <= set(groups)
        assert "deleted" not in groups
        for group in groups:
            mine, theirs = told(request(DESCRIBE, 6, groups=(group,), include_authorized_operations=False))
            assert mine == theirs
            mine, theirs = told(request(FETCH, 7, group_id=group, topics=None, require_stable=True))
            assert mine == theirs
