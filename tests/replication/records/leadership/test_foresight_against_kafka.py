"""What is foreseen of starts, beside what Kafka's own PartitionChangeBuilder makes of each step."""

import json
from collections.abc import Iterator, Mapping
from random import Random
from types import MappingProxyType
from typing import Any

import pytest

from logstore.topic_partition import TopicPartition
from replication.records.leadership.foresight import Foresight, StartingBroker
from replication.records.metadata.records import NO_LEADER
from tests.campaign import Campaign
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.records.leadership.clusters import TOPIC, Cluster, directory, partition

CAMPAIGN = Campaign("starts foreseen beside Kafka's decisions", full=5_000, share=150)
STEPS = ("fence", "register", "unfence")


@pytest.fixture(scope="module")
def kafka(release: KafkaRelease) -> Iterator[JavaProgram]:
    with JavaProgram(release, "PartitionChangeOracle") as oracle:
        yield oracle


def test_whom_kafka_elects_step_by_step_is_among_what_is_foreseen(kafka: JavaProgram) -> None:
    random = Random(CAMPAIGN.seed)
    asked = 0
    for _ in range(CAMPAIGN.count):
        cluster, clean = cluster_of(random), {each for each in (1, 2, 3) if random.random() < 0.5}
        starting = [each for each in cluster.partition.replicas if random.random() < 0.9]
        brokers = [StartingBroker(each, 100 + each if each in clean else -1, (directory(each),)) for each in starting]
        found = Foresight(cluster.image(), brokers).of(TopicPartition(TOPIC, 0))
        assert found is not None
        leader = Walk(kafka, cluster, clean).leader(random, starting)
        assert leader in {each.leader for each in found.together}, (cluster, clean, starting)
        running, elected = Walk(kafka, cluster, clean).elected(random, starting)
        forced = [each for order in found.forced if {*order.started} == running for each in order.elections]
        assert not forced or elected in {each.leader for each in forced}, (cluster, clean, running)
        asked += bool(forced)
    assert asked
    CAMPAIGN.report(CAMPAIGN.count, f"{asked:,} unclean elections asked for", beside=kafka.release)


def cluster_of(random: Random) -> Cluster:
    """A partition as a controller leaves it: fenced brokers are in no ISR, but for its last member."""
    replicas = random.sample([1, 2, 3], random.randint(1, 3))
    elr = random.random() < 0.5
    settings = {"min.insync.replicas": str(random.randint(1, 2))}
    if random.random() < 0.3:
        settings["unclean.leader.election.enable"] = "true"
    alive = random.sample(replicas, random.randint(0, len(replicas)))
    if alive:
        in_sync = random.sample(alive, random.randint(1, len(alive)))
        state = partition(replicas, in_sync, random.choice(in_sync), epoch=random.randint(0, 5))
        return Cluster(state, elr, alive, settings)
    last = random.choice(replicas)
    state = partition(replicas, elr=[last], last_known=[last]) if elr else partition(replicas, isr=[last])
    return Cluster(state, elr, alive, settings)


class Walk:
    """One order in which brokers are fenced, register and serve; each step is decided by Kafka."""

    def __init__(self, kafka: JavaProgram, cluster: Cluster, clean: set[int]) -> None:
        self._kafka = kafka
        self._cluster = cluster
        self._clean = clean
        state = cluster.partition
        self._partition: dict[str, Any] = {
            "replicas": list(state.replicas),
            "isr": list(state.isr),
            "removing_replicas": [],
            "adding_replicas": [],
            "leader": state.leader,
            "leader_epoch": state.leader_epoch,
            "partition_epoch": 0,
            "leader_recovery_state": "RECOVERED",
            "elr": list(state.elr),
            "last_known_elr": list(state.last_known_elr),
        }
        self._active = {*cluster.alive}

    def leader(self, random: Random, starting: list[int]) -> int | None:
        """Who leads first of those that run. The brokers that count as alive are fenced in the order of their ids."""
        serving: set[int] = set()
        for broker in sorted(self._active):
            self._step("fence", broker)
        left = {broker: ["register", "unfence"] for broker in starting}
        while left:
            broker = random.choice(sorted(left))
            step = left[broker].pop(0)
            self._step(step, broker)
            serving |= {broker} if step == "unfence" else set()
            if not left[broker]:
                del left[broker]
            if self._partition["leader"] in serving:
                return int(self._partition["leader"])
        return None

    def elected(self, random: Random, starting: list[int]) -> tuple[set[int], int | None]:
        """Who runs, and who leads, once some have started and an unclean election is asked for where nobody leads."""
        for broker in sorted(self._active):
            self._step("fence", broker)
        running = random.sample(starting, random.randint(0, len(starting)))
        for number, broker in enumerate(running, 1):
            self._step("register", broker)
            self._step("unfence", broker)
            if self._partition["leader"] != NO_LEADER:
                return {*running[:number]}, int(self._partition["leader"])
        self._ask(self._partition["isr"], "UNCLEAN")
        leader = int(self._partition["leader"])
        return {*running}, None if leader == NO_LEADER else leader

    def _step(self, step: str, broker: int) -> None:
        state = self._partition
        crashed = step == "register" and self._cluster.elr and broker not in self._clean
        concerns = {
            "fence": broker in state["isr"],
            "register": broker in state["isr"] or (crashed and broker in state["elr"]),
            "unfence": state["leader"] == -1,
        }[step]
        self._active = self._active | {broker} if step == "unfence" else self._active - {broker}
        if not concerns:
            return
        kept = state["isr"] if step == "unfence" else [each for each in state["isr"] if each != broker]
        election = "UNCLEAN" if "unclean.leader.election.enable" in self._cluster.settings else "ONLINE"
        self._ask(kept, election, {"unclean_shutdown_replicas": [broker]} if crashed else {})

    def _ask(self, isr: list[int], election: str, target: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Let Kafka decide, and take over what it changes."""
        asked = {
            "partition": self._partition,
            "active_brokers": sorted(self._active),
            "election": election,
            "target": {"isr": isr, **target},
            "metadata_version": "4.3-IV0",
            "elr_enabled": self._cluster.elr,
            "min_isr": min(int(self._cluster.settings["min.insync.replicas"]), len(self._partition["replicas"])),
            "use_last_known_leader": True,
        }
        [told] = self._kafka.ask(json.dumps(asked))
        self._change(json.loads(told) or {})

    def _change(self, changed: dict[str, Any]) -> None:
        names = {
            "isr": "isr",
            "leader": "leader",
            "eligible_leader_replicas": "elr",
            "last_known_elr": "last_known_elr",
        }
        self._partition.update({ours: changed[theirs] for theirs, ours in names.items() if theirs in changed})
