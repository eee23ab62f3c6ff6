"""`epochlog broker` among Kafka's own controller and broker, once files of its own are gone, cut, old or damaged.

It was the last in the ISR, and comes first: Kafka's broker leads then, and the others are cut to what it has left.
"""

import json
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import TopicPartition
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import NO_LEADER
from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.member import SESSION_MS, controllers
from tests.replication.lost_files import DAMAGES, LOSSES, Loss, lose_all_but_the_marker, unchanged
from tests.replication.testing.stopped_replicas import loaded
from tests.replication.waiting import wait_until

OURS, THEIRS = 9, 1
SAFE, PLAIN = "safe", "plain"
"""Topics with eligible leader replicas, as fewer than `min.insync.replicas` may be left in sync, and without."""
EACH = 30
ACCEPTED = len(LOSSES) - 1


@dataclass
class Setting:
    """A broker of ours beside Kafka's, with a partition of each topic for each way to lose files."""

    theirs: KafkaCluster
    directory: Path
    losses: Mapping[str, Loss] = field(default_factory=lambda: LOSSES)
    told: list[dict[str, object]] = field(default_factory=list)
    """Of the last start of ours, once that has ended."""

    @contextmanager
    def joined(self, *options: str) -> Iterator[dict[str, object]]:
        config = server_properties(self.directory, controllers(self.theirs), OURS)
        if not (self.directory / f"ours-{OURS}").exists():
            assert epochlog("format", "--config", config, "--cluster-id", CLUSTER_ID).status == 0
        errors = self.directory / "errors"
        with open(errors, "w", encoding="utf-8") as output, joined(config, output, *options) as (process, said):
            yield said
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
        events = (json.loads(line) for line in errors.read_text().splitlines() if line.startswith("{"))
        self.told = [each for each in events if each["event"] == "replica-short"]

    @property
    def partitions(self) -> range:
        return range(len(self.losses))

    def states(self, topic: str) -> dict[int, PartitionRegistration]:
        return dict(self.theirs.image().topics.by_name[topic].partitions)

    def leaders(self, topic: str) -> set[int]:
        return {each.leader for each in self.states(topic).values()}

    def are_in_sync(self) -> bool:
        return all(set(each.isr) == {OURS, THEIRS} for topic in (SAFE, PLAIN) for each in self.states(topic).values())

    def ours(self, topic: str, number: int) -> Path:
        return self.directory / f"ours-{OURS}" / f"{topic}-{number}"

    def values(self, root: Path, topic: str, number: int) -> list[bytes | None]:
        return [record.value for record in loaded(root, TopicPartition(topic, number)).records()]

    def send(self) -> None:
        producer = Producer({"bootstrap.servers": self.theirs.bootstrap(), "acks": "all"})
        for topic in (SAFE, PLAIN):
            for number in self.partitions:
                for each in range(EACH):
                    producer.produce(topic, b"order %d" % each, partition=number)
                    producer.poll(0)
                    if each % 10 == 0:
                        producer.flush(SECONDS)
        assert producer.flush(SECONDS) == 0

    def elect_uncleanly(self, topic: str, numbers: Sequence[int]) -> None:
        election = self.directory / "election.json"
        election.write_text(json.dumps({"partitions": [{"topic": topic, "partition": each} for each in numbers]}))
        arguments = ("--election-type", "unclean", "--path-to-json-file", election)
        tool = "org.apache.kafka.tools.LeaderElectionCommand"
        self.theirs.run_tool(tool, "--bootstrap-server", self.theirs.bootstrap(THEIRS), *arguments)


@pytest.fixture
def setting(tmp_path: Path, release: KafkaRelease) -> Iterator[Setting]:
    settings = {"broker.session.timeout.ms": SESSION_MS}
    with KafkaCluster(tmp_path / "theirs", release, controller_settings=settings) as theirs:
        yield Setting(theirs, tmp_path)


def lose_files(setting: Setting) -> None:
    """Stop all in order, ours last, of which something is gone then."""
    partitions = setting.partitions
    older = setting.directory / "older"
    with setting.joined() as said:
        assert said["fenced"] is False
        admin = AdminClient({"bootstrap.servers": setting.theirs.bootstrap()})
        for topic, min_isr in ((SAFE, "2"), (PLAIN, "1")):
            made = NewTopic(
                topic,
                len(partitions),
                replica_assignment=[[OURS, THEIRS] for _ in partitions],
                config={"min.insync.replicas": min_isr},
            )
            admin.create_topics([made])[topic].result(SECONDS)
        wait_until(setting.are_in_sync)
        setting.send()
    assert not setting.told
    shutil.copytree(setting.directory / f"ours-{OURS}", older)
    with setting.joined():
        wait_until(setting.are_in_sync)
        setting.send()
        setting.theirs.stop(THEIRS)
        wait_until(lambda: setting.leaders(SAFE) | setting.leaders(PLAIN) == {OURS})
    for topic in (SAFE, PLAIN):
        for number, loss in zip(partitions, setting.losses.values(), strict=True):
            loss(setting.ours(topic, number), older / f"{topic}-{number}")


def ensure_it_is_copied_from_the_others(setting: Setting, accepted: int, left: int) -> None:
    """But for the partition whose loss is accepted: of its records so many are left."""
    theirs = setting.theirs.log_dir(THEIRS)
    sent = {topic: setting.values(theirs, topic, 0) for topic in (SAFE, PLAIN)}
    assert [len(each) for each in sent.values()] == [2 * EACH] * 2
    with setting.joined() as said:
        assert said["fenced"] is True
        assert len(said["offline"]) >= len(setting.partitions)  # type: ignore[arg-type]
        assert setting.leaders(SAFE) | setting.leaders(PLAIN) == {NO_LEADER}
        setting.theirs.start(THEIRS)
        wait_until(lambda: setting.leaders(SAFE) == {THEIRS})
        assert setting.leaders(PLAIN) == {NO_LEADER}
        setting.elect_uncleanly(PLAIN, [each for each in setting.partitions if each != accepted])
    withheld = {(each["topic"], each["partition"]) for each in setting.told if each["standing"] == "withheld"}
    assert {(PLAIN, number) for number in setting.partitions} <= withheld

    with setting.joined("--accept-loss", f"{PLAIN}-{accepted}"):
        wait_until(setting.are_in_sync)
    told = {(each["topic"], each["partition"]): each["standing"] for each in setting.told}
    assert told[PLAIN, accepted] == "accepted"
    setting.theirs.stop(THEIRS)
    for topic in (SAFE, PLAIN):
        for number in setting.partitions:
            ours = setting.values(setting.ours(topic, number).parent, topic, number)
            assert ours == setting.values(theirs, topic, number)
            is_accepted = (topic, number) == (PLAIN, accepted)
            assert ours == sent[topic][: left if is_accepted else None]


def test_what_the_last_in_the_isr_has_lost_is_copied_from_the_others(setting: Setting) -> None:
    lose_files(setting)
    ensure_it_is_copied_from_the_others(setting, ACCEPTED, EACH)


def test_what_it_has_lost_with_all_that_spoke_of_it_is_copied_too(setting: Setting) -> None:
    """Its copy of the metadata as well, which it fetches anew: that speaks of it."""
    setting.losses = dict.fromkeys(("elected", "accepted"), unchanged)
    lose_files(setting)
    lose_all_but_the_marker(setting.ours(SAFE, 0).parent)
    ensure_it_is_copied_from_the_others(setting, accepted=1, left=0)


def test_what_is_damaged_is_cut_once_kafkas_leader_has_it(setting: Setting) -> None:
    setting.losses = DAMAGES
    lose_files(setting)
    root = setting.ours(SAFE, 0).parent
    (root / CLEAN_SHUTDOWN_NAME).unlink()
    logs = {path: path.read_bytes() for topic in (SAFE, PLAIN) for path in root.glob(f"{topic}-*/*.log")}
    theirs = setting.theirs.log_dir(THEIRS)
    sent = {topic: setting.values(theirs, topic, 0) for topic in (SAFE, PLAIN)}
    with setting.joined() as said:
        assert said["fenced"] is True
        assert setting.leaders(SAFE) | setting.leaders(PLAIN) == {NO_LEADER}
        assert {path: path.read_bytes() for path in logs} == logs
        setting.theirs.start(THEIRS)
        wait_until(lambda: setting.leaders(SAFE) == {THEIRS})
        setting.elect_uncleanly(PLAIN, setting.partitions)
        wait_until(setting.are_in_sync)
    setting.theirs.stop(THEIRS)
    assert {each["standing"] for each in setting.told} == {"withheld", "used"}
    for path, content in logs.items():
        topic, number = path.parent.name.split("-")
        assert setting.values(root, topic, int(number)) == sent[topic]
        (aside,) = path.parent.glob("*.set-aside")
        assert content.endswith(aside.read_bytes())
