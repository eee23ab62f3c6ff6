"""`epochlog broker` among Kafka's own controller and broker, once a disk of its own is replaced or taken away."""

import json
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import NO_LEADER
from tests.oracle.cluster import CLUSTER_ID, KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cli.settings.joining import SECONDS, joined, server_properties
from tests.replication.cluster.broker.member import SESSION_MS, controllers
from tests.replication.waiting import wait_until

OURS, THEIRS, ADDED = 9, 1, 2
EACH = 20
"""Records in each partition."""


@dataclass
class Setting:
    """A broker of ours with two directories; Kafka's first has a replica of `orders`, and none of `alone`."""

    theirs: KafkaCluster
    directory: Path

    @property
    def roots(self) -> list[Path]:
        return [self.directory / "one", self.directory / "two"]

    @contextmanager
    def joined(self, *roots: Path) -> Iterator[list[dict[str, object]]]:
        """Let it run with these directories until it stops in order; what it tells of lost replicas is there then."""
        names = ",".join(map(str, roots))
        config = server_properties(self.directory, controllers(self.theirs), OURS, log_dirs=names)
        formatting = ("format", "--config", config, "--cluster-id", CLUSTER_ID, "--ignore-formatted")
        assert epochlog(*formatting).status == 0
        told: list[dict[str, object]] = []
        errors = self.directory / "errors"
        with open(errors, "w", encoding="utf-8") as output, joined(config, output) as (process, _):
            yield told
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
        events = (json.loads(line) for line in errors.read_text().splitlines() if line.startswith("{"))
        told += (event for event in events if event["event"] == "replica-lost")

    def states(self, topic: str) -> dict[int, PartitionRegistration]:
        return dict(self.theirs.image().topics.by_name[topic].partitions)

    def are_in_sync(self) -> bool:
        return all(set(each.isr) == {THEIRS, OURS} for each in self.states("orders").values())

    def are_led(self) -> bool:
        return all(each.leader == OURS for each in self.states("alone").values())

    def names_of(self, root: Path) -> set[str]:
        """Which partitions the metadata has in a directory."""
        return {path.name for topic in ("orders", "alone") for path in root.glob(f"{topic}-[0-9]")}

    def are_placed(self) -> bool:
        """Whether the metadata says of each replica in which of the directories that are registered it lies."""
        image = self.theirs.image()
        known = set(image.brokers[OURS].directories)
        return all(
            each.directory_of(OURS) in known for _, _, each in image.topics.partitions() if OURS in each.replicas
        )

    def log(self, root: Path, partition: str) -> bytes:
        return (root / partition / f"{0:020}.log").read_bytes().rstrip(b"\0")


@pytest.fixture
def setting(tmp_path: Path, release: KafkaRelease) -> Iterator[Setting]:
    settings = {"broker.session.timeout.ms": SESSION_MS}
    with KafkaCluster(tmp_path / "theirs", release, brokers=2, controller_settings=settings) as theirs:
        yield Setting(theirs, tmp_path)


def make_topics(setting: Setting, orders: Sequence[list[int]], alone: int, min_isr: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": setting.theirs.bootstrap()})
    # One after the other: each then lies in both directories.
    for topic, replicas in (("alone", [[OURS]] * alone), ("orders", list(orders))):
        config = {"min.insync.replicas": str(min(min_isr, len(replicas[0])))}
        made = NewTopic(topic, len(replicas), replica_assignment=replicas, config=config)
        admin.create_topics([made])[topic].result(SECONDS)
        wait_until(setting.are_placed)
    producer = Producer({"bootstrap.servers": setting.theirs.bootstrap(), "acks": "all"})
    for topic, partitions in (("orders", len(orders)), ("alone", alone)):
        for number in range(EACH * partitions):
            producer.produce(topic, b"order %d" % number, partition=number % partitions)
    assert producer.flush(SECONDS) == 0
    wait_until(setting.are_in_sync)


def test_what_a_replaced_disk_or_one_that_was_taken_away_held_is_made_again(setting: Setting) -> None:
    one, two = setting.roots
    with setting.joined(one, two) as told:
        make_topics(setting, [[THEIRS, OURS], [OURS, THEIRS]] * 3, 4)
    assert not told
    lost = setting.names_of(two)
    assert lost
    assert {name.split("-")[0] for name in lost} == {"orders", "alone"}

    shutil.rmtree(two)
    with setting.joined(one, two) as told:
        wait_until(lambda: setting.are_in_sync() and setting.are_led() and setting.are_placed())
    assert_made_again(setting, told, lost, setting.roots)

    lost_now = setting.names_of(two)
    with setting.joined(one) as told:
        wait_until(lambda: setting.are_in_sync() and setting.are_led() and setting.are_placed())
    assert_made_again(setting, told, lost_now, [one])

    with setting.joined(one, two) as told:
        wait_until(lambda: setting.are_in_sync() and setting.are_led())
    assert not told
    assert {path.name.split(".")[0] for path in two.glob("*-stray")} == lost_now
    assert not setting.names_of(two)


def assert_made_again(setting: Setting, told: list[dict[str, object]], lost: set[str], roots: Sequence[Path]) -> None:
    assert {f"{each['topic']}-{each['partition']}" for each in told} == lost
    assert all(each["only_replica"] is (each["topic"] == "alone") for each in told)
    for number in setting.states("orders"):
        assert_equal(setting, f"orders-{number}", roots)


def assert_equal(setting: Setting, partition: str, roots: Sequence[Path]) -> None:
    (ours,) = (root for root in roots if (root / partition).exists())
    theirs = setting.log(setting.theirs.log_dir(THEIRS), partition)
    assert theirs
    assert setting.log(ours, partition) == theirs


def test_what_only_this_broker_had_in_sync_waits_until_another_is_elected_uncleanly(setting: Setting) -> None:
    """Kafka's broker leads empty there, and others that come back are cut to nothing."""
    one, two = setting.roots
    with setting.joined(one, two):
        make_topics(setting, [[OURS, THEIRS]] * 4, 1)
        setting.theirs.stop(THEIRS)
        wait_until(lambda: all(each.isr == (OURS,) for each in setting.states("orders").values()))
    lost = sorted(name for name in setting.names_of(two) if name.startswith("orders"))
    first, other = (int(name.split("-")[1]) for name in lost)
    kept = setting.log(setting.theirs.log_dir(THEIRS), f"orders-{first}")
    shutil.rmtree(two)
    with setting.joined(one, two) as told:
        # No other replica lives: one is added.
        setting.theirs.reassign("orders", other, [OURS, ADDED], through=ADDED)
        elect_uncleanly(setting, other)
        wait_until(lambda: set(setting.states("orders")[other].isr) == {ADDED, OURS})
        assert setting.states("orders")[first].leader == NO_LEADER
        setting.theirs.start(THEIRS)
        wait_until(lambda: not any(each.fenced for each in setting.theirs.image().brokers.values()))
        assert setting.states("orders")[first].leader == NO_LEADER
        elect_uncleanly(setting, first)
        wait_until(lambda: set(setting.states("orders")[first].isr) == {THEIRS, OURS})
    assert {f"orders-{each['partition']}" for each in told if each["topic"] == "orders"} == {*lost}
    assert setting.log(setting.theirs.log_dir(THEIRS), f"orders-{first}") == kept
    assert_equal(setting, f"orders-{first}", setting.roots)


def test_an_eligible_one_is_made_again_at_the_second_start(setting: Setting) -> None:
    """Its directory was taken away, and by those that are left the broker has stopped in order."""
    one, two = setting.roots
    with setting.joined(one, two):
        make_topics(setting, [[THEIRS, OURS]] * 4, 1, min_isr=2)
    lost = {name for name in setting.names_of(two) if name.startswith("orders")}
    numbers = {int(name.split("-")[1]) for name in lost}
    wait_until(lambda: all(each.elr == (OURS,) for each in setting.states("orders").values()))
    with setting.joined(one) as told:
        wait_until(
            lambda: all((OURS in each.isr) is (n not in numbers) for n, each in setting.states("orders").items())
        )
        assert all(setting.states("orders")[number].elr == (OURS,) for number in numbers)
    assert not [each for each in told if each["topic"] == "orders"]
    with setting.joined(one) as told:
        wait_until(setting.are_in_sync)
    assert {f"orders-{each['partition']}" for each in told} == lost
    for name in lost:
        assert_equal(setting, name, [one])


def elect_uncleanly(setting: Setting, number: int) -> None:
    election = setting.directory / "election.json"
    election.write_text(json.dumps({"partitions": [{"topic": "orders", "partition": number}]}))
    arguments = ("--election-type", "unclean", "--path-to-json-file", election)
    tool = "org.apache.kafka.tools.LeaderElectionCommand"
    setting.theirs.run_tool(tool, "--bootstrap-server", setting.theirs.bootstrap(ADDED), *arguments)
