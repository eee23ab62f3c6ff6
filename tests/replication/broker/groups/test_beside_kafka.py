"""What a real coordinator and ours answer to the same requests, in the same order."""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from replication.broker.groups.group_settings import GroupSettings
from replication.metadata.image import ClusterImage
from replication.metadata.records import PartitionRecord, TopicRecord
from replication.protocol.client.connection import Connection
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.metadata import MetadataRequest
from tests.campaign import Campaign
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.broker.groups.sides import SECONDS_TO_ANSWER, Ids, Ours, Slot, plain, request
from tests.replication.broker.groups.steps import DESCRIBE, FIND, HEARTBEAT, JOIN, LIST, SYNC, TOPIC, Client, Steps

CAMPAIGN = Campaign("groups: requests beside a real coordinator", full=1_000, share=20)
STEPS = 30
CLIENTS = 4
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
        roles = {"replicas": (1,), "isr": (1,), "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
        image.replay(PartitionRecord(partition_id=number, topic_id=topic, **roles))
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
        self.slots = slots
        self.ours = ours
        self.ids = Ids()
        self.clients = [Client() for _ in slots]
        self.waiting: dict[int, tuple[int, str, Any]] = {}
        self.leader: str | None = None
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
        key, member, write = self.steps.draw(client, others, waiting)
        real = write(self.ids.real_id)
        self.log.append(f"{place}: {plain(write(str), {})} v{real.__version__}")
        self.slots[place].connection.send(real)
        self.waiting[place] = key, member, self.ours.ask(write(self.ids.our_id))
        return self._settle()

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
        return all(each["group_state"] == "Dead" for each in groups if each["group_id"] == self.group)

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
            slots = [stack.enter_context(Slot(cluster.bootstrap())) for _ in range(CLIENTS)]
            run = Run(f"{CAMPAIGN.seed}-{number}", slots, Ours(cluster.bootstrap(), image, SETTINGS), topic)
            unlike += not run.run()
            compared, unwritten = compared + run.compared, unwritten + run.unwritten
            stack.pop_all().close()
    CAMPAIGN.report(CAMPAIGN.count, f"{compared:,} answers", beside=cluster.release)
    assert compared > 10 * CAMPAIGN.count
    assert unwritten < compared / 20
    assert unlike < CAMPAIGN.count / 2
