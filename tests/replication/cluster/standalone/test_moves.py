"""Partitions move between the directories of a broker, while clients write and read, and whatever breaks that off."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from logstore import Log, TopicPartition, open_offline
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from logstore.files.partition_metadata import parse_uuid
from logstore.topic_partition import DirectoryMark
from logstore.verify.verify import verify
from replication.cluster.broker.replicas.replica_switch import ReplicaSwitch
from replication.cluster.standalone.standalone_broker import StandaloneBroker
from replication.records.metadata.configurations import ConfigResourceType
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from tests.conftest import require
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cluster.standalone.alone import alone
from tests.replication.cluster.standalone.busy_producer import BusyProducer
from tests.replication.cluster.standalone.clients import SECONDS, produce, read
from tests.replication.cluster.standalone.java_clients import Tools
from tests.small_disk import SmallDisk, small_disk

MOVES_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
ORDERS = TopicPartition("orders", 0)
VALUES = [b"%d" % number for number in range(300)]


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    return [tmp_path / "one", tmp_path / "other"]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def place(broker: StandaloneBroker, partition: TopicPartition = ORDERS) -> Path:
    return Path(broker.local.replicas.hosted[partition].root)


def state(broker: StandaloneBroker) -> PartitionRegistration:
    return broker.controller.published.image.topics.by_name[ORDERS.topic].partitions[0]


def assigned(broker: StandaloneBroker) -> UUID:
    return state(broker).directory_of(1)


def id_of(root: Path) -> UUID:
    return parse_uuid(MetaProperties.read(root / META_PROPERTIES_NAME).directory_id or "")


def other(roots: list[Path], root: Path) -> Path:
    return roots[root == roots[0]]


def move(broker: StandaloneBroker, root: Path) -> None:
    assert broker.local.replicas.moves.ask(ORDERS, str(root)) is ErrorCode.NONE
    wait_until(lambda: place(broker) == root and assigned(broker) == id_of(root))


def directories(root: Path) -> list[DirectoryMark]:
    marks = (each.name.rpartition("-")[2] for each in root.glob("orders-0*"))
    return sorted((DirectoryMark.NONE if mark == "0" else DirectoryMark(mark) for mark in marks), key=str)


def values(broker: StandaloneBroker) -> list[bytes | None]:
    return [each.value for each in read(str(broker.local.address), ORDERS.topic)]


def assert_sound(roots: list[Path]) -> None:
    for root in roots:
        assert [each for each in verify(open_offline(root), records=True) if each.severity.needs_attention] == []


def test_a_partition_moves_with_all_that_it_holds_and_stays_there(roots: list[Path]) -> None:
    with alone(*roots) as broker:
        assert not produce(str(broker.local.address), ORDERS.topic, VALUES)
        target = other(roots, place(broker))
        epochs = broker.local.replicas.hosted[ORDERS].log.epochs.history
        move(broker, target)
        hosted = broker.local.replicas.hosted[ORDERS]
        assert (hosted.log.directory, hosted.log.epochs.history) == (target / "orders-0", epochs)
        assert hosted.led is not None
        assert values(broker) == VALUES
        assert not produce(str(broker.local.address), ORDERS.topic, [b"more"])
        wait_until(lambda: directories(other(roots, target)) in ([], [DirectoryMark.DELETE]))
    with alone(*roots) as again:
        assert place(again) == target
        assert values(again) == [*VALUES, b"more"]
    assert_sound(roots)


def test_a_copy_that_lags_keeps_to_the_rate_that_is_set_for_its_broker(roots: list[Path]) -> None:
    with alone(*roots) as broker:
        admin = AdminClient({"bootstrap.servers": str(broker.local.address)})
        assert not produce(str(broker.local.address), ORDERS.topic, [bytes(300_000)] * 6)
        limit(admin, "1")
        assert broker.local.wait_until(lambda: limited(broker), SECONDS)
        moves, target = broker.local.replicas.moves, other(roots, place(broker))
        assert moves.ask(ORDERS, str(target)) is ErrorCode.NONE
        wait_until(lambda: any(each.size for each in moves.described()))
        sizes = set()
        for _ in range(5):
            moves.want(ORDERS, broker.local.directories.roots[[*map(str, roots)].index(str(target))])  # looks again
            time.sleep(0.1)
            sizes |= {each.size for each in moves.described()}
        assert len(sizes) == 1, "it was copied on"
        limit(admin, None)
        wait_until(lambda: place(broker) == target)
    assert_sound(roots)


def limited(broker: StandaloneBroker) -> bool:
    return MOVES_RATE in broker.local.image.configurations.of(ConfigResourceType.BROKER, "1")


def limit(admin: AdminClient, rate: str | None) -> None:
    """Set how many bytes a second the broker may copy; None: as many as it can."""
    operation = AlterConfigOpType.DELETE if rate is None else AlterConfigOpType.SET
    entry = ConfigEntry(MOVES_RATE, rate or "", incremental_operation=operation)
    resource = ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])
    for changed in admin.incremental_alter_configs([resource]).values():
        changed.result(SECONDS)


def test_an_idempotent_producer_and_readers_notice_nothing_of_moves_to_and_fro(roots: list[Path]) -> None:
    with alone(*roots) as broker:
        producer = BusyProducer(str(broker.local.address), ORDERS.topic)
        producer.wait_for(50)
        consumer = ck.Consumer({"bootstrap.servers": str(broker.local.address), "group.id": "reader"})
        consumer.assign([ck.TopicPartition(ORDERS.topic, 0, 0)])
        seen: list[int] = []
        for _ in range(4):
            move(broker, other(roots, place(broker)))
            producer.wait_for(50)
            wanted = len(seen) + 50
            while len(seen) < wanted:
                seen += [int(each.value() or b"") for each in consumer.consume(50, SECONDS)]
        consumer.close()
        assert seen == list(range(len(seen)))
        producer.stop()
        records = read(str(broker.local.address), ORDERS.topic)
    assert producer.errors == []
    assert [int(each.value or b"") for each in records] == list(range(producer.count))
    assert producer.acknowledged == [(each.offset, int(each.value or b"")) for each in records]
    assert_sound(roots)


class TestAnswers:
    """As Kafka's ReplicaManager.alterReplicaLogDirs."""

    def test_of_what_cannot_be_moved(self, roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
        with alone(*roots) as broker:
            assert not produce(str(broker.local.address), ORDERS.topic, [b"one"])
            ask = broker.local.replicas.moves.ask
            target = str(other(roots, place(broker)))
            assert ask(ORDERS, "/nowhere") is ErrorCode.LOG_DIR_NOT_FOUND
            assert ask(TopicPartition("unknown", 0), target) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            broker.local.replicas.hosted.offline.add(TopicPartition("offline", 0))
            assert ask(TopicPartition("offline", 0), target) is ErrorCode.KAFKA_STORAGE_ERROR
            monkeypatch.setattr(LogDirectory, "failure", OSError(5, "Input/output error"))
            assert ask(ORDERS, target) is ErrorCode.KAFKA_STORAGE_ERROR

    @pytest.mark.parametrize("number", [0, 1])
    def test_where_a_partition_is_wanted_that_is_not_there_yet_is_remembered(
        self, roots: list[Path], number: int
    ) -> None:
        with alone(*roots) as broker:
            assert broker.local.replicas.moves.ask(ORDERS, str(roots[number])) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert not produce(str(broker.local.address), ORDERS.topic, [b"one"])
            wait_until(lambda: assigned(broker) == id_of(roots[number]))
            assert place(broker) == roots[number]

    def test_to_be_where_it_is_ends_a_move(self, roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
        with alone(*roots) as broker:
            assert not produce(str(broker.local.address), ORDERS.topic, VALUES)
            source = place(broker)
            # As long as it is not to switch.
            monkeypatch.setattr(broker.local.replicas, "move_on", lambda: None)
            moves = broker.local.replicas.moves
            moves.ask(ORDERS, str(other(roots, source)))
            wait_until(lambda: bool(moves.caught_up()))
            (told,) = moves.described()
            assert (told.root, told.offset_lag, told.size > 0) == (str(other(roots, source)), 0, True)
            moves.ask(ORDERS, str(source))
            wait_until(lambda: not moves.described())
            monkeypatch.undo()
            assert place(broker) == source
            assert values(broker) == VALUES
            wait_until(lambda: assigned(broker) == id_of(source))
        assert DirectoryMark.FUTURE not in directories(other(roots, source))

    def test_another_directory_takes_the_place_of_the_one_asked_for_before(
        self, roots: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with alone(*roots, tmp_path / "third") as broker:
            assert not produce(str(broker.local.address), ORDERS.topic, VALUES)
            first, second = (root for root in (*roots, tmp_path / "third") if root != place(broker))
            monkeypatch.setattr(broker.local.replicas, "move_on", lambda: None)
            moves = broker.local.replicas.moves
            moves.ask(ORDERS, str(first))
            wait_until(lambda: bool(moves.caught_up()))
            monkeypatch.undo()
            move(broker, second)
            assert values(broker) == VALUES
            wait_until(lambda: DirectoryMark.FUTURE not in directories(first))


class Killed(BaseException):
    """The process ends here."""


def killed(roots: list[Path], monkeypatch: pytest.MonkeyPatch, at: str) -> Path:
    """Let a broker die in the middle of a move; return where the partition was to go."""
    broker = alone(*roots)
    assert not produce(str(broker.local.address), ORDERS.topic, VALUES)
    wait_until(lambda: assigned(broker) == id_of(place(broker)))
    target = other(roots, place(broker))
    monkeypatch.setattr(LogDirectories, "close", LogDirectories.abandon)
    replicas = broker.local.replicas
    if at == "copied":
        monkeypatch.setattr(replicas, "move_on", lambda: None)
        done = lambda: bool(replicas.moves.caught_up())  # noqa: E731
    elif at == "assigned":
        monkeypatch.setattr(ReplicaSwitch, "make", lambda *_: None)
        done = lambda: assigned(broker) == id_of(target)  # noqa: E731
    else:
        monkeypatch.setattr(LogDirectory, "delete", lambda *_: None)
        done = lambda: place(broker) == target  # noqa: E731
    replicas.moves.ask(ORDERS, str(target))
    wait_until(done)
    broker.local.abandon()
    broker.close()
    monkeypatch.undo()
    return target


@pytest.mark.parametrize("at", ["copied", "assigned", "switched"])
def test_a_broker_that_was_killed_goes_on_with_a_move(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    target = killed(roots, monkeypatch, at)
    source = other(roots, target)
    assert (directories(source), directories(target)) == {
        "copied": ([DirectoryMark.NONE], [DirectoryMark.FUTURE]),
        "assigned": ([DirectoryMark.NONE], [DirectoryMark.FUTURE]),
        "switched": ([DirectoryMark.NONE], [DirectoryMark.NONE]),
    }[at]
    with alone(*roots) as broker:
        wait_until(lambda: place(broker) == target)
        assert values(broker) == VALUES
        assert not produce(str(broker.local.address), ORDERS.topic, [b"more"])
    assert DirectoryMark.NONE not in directories(source)
    assert directories(target) == [DirectoryMark.NONE]
    with alone(*roots) as again:
        assert values(again) == [*VALUES, b"more"]
        assert place(again) == target
    assert_sound(roots)


def test_a_copy_that_was_to_be_the_log_is_once_no_other_is_left(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = killed(roots, monkeypatch, "assigned")
    source = other(roots, target)
    (source / "orders-0").rename(source / "moved-away")
    with alone(*roots) as broker:
        assert place(broker) == target
        assert values(broker) == VALUES


def test_the_copy_of_a_topic_that_is_deleted_meanwhile_goes(roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with alone(*roots) as broker:
        assert not produce(str(broker.local.address), ORDERS.topic, VALUES)
        monkeypatch.setattr(broker.local.replicas, "move_on", lambda: None)
        target = other(roots, place(broker))
        broker.local.replicas.moves.ask(ORDERS, str(target))
        wait_until(lambda: bool(broker.local.replicas.moves.caught_up()))
        topic = broker.controller.published.image.topics.by_name[ORDERS.topic]
        broker.controller.decide(lambda deciding: deciding.delete_topics([topic.id]))
        wait_until(lambda: ORDERS not in broker.local.replicas.hosted)
        for root in roots:
            wait_until(lambda root=root: not {*directories(root)} - {DirectoryMark.DELETE})  # type: ignore[misc]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        require(available=disk.is_mounted, what="the right to mount a file system")
        yield disk


def test_a_full_target_holds_a_move_up_and_nothing_else(disk: SmallDisk, tmp_path: Path) -> None:
    roots = [tmp_path / "one", disk.path / "other"]
    with alone(*roots) as broker:
        broker.local.replicas.moves.ask(ORDERS, str(roots[0]))
        assert not produce(str(broker.local.address), ORDERS.topic, VALUES)
        wait_until(lambda: assigned(broker) == id_of(roots[0]))
        disk.fill()
        assert broker.local.replicas.moves.ask(ORDERS, str(roots[1])) is ErrorCode.NONE
        time.sleep(2)
        assert not produce(str(broker.local.address), ORDERS.topic, [b"more"])
        assert place(broker) == roots[0]
        assert not broker.local.directories.offline
        disk.make_space()
        wait_until(lambda: place(broker) == roots[1])
        assert values(broker) == [*VALUES, b"more"]
    assert_sound(roots)


def test_a_target_whose_disk_fails_leaves_the_partition_where_it_is(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with alone(*roots) as broker:
        assert not produce(str(broker.local.address), ORDERS.topic, VALUES)
        source = place(broker)
        target = next(root for root in broker.local.directories.roots if root.root != source)
        append = Log.append_batches

        def fail(log: Log, *arguments: object, **named: object) -> object:
            if log.directory.parent == target.root:
                target._disk.fail(OSError(5, "Input/output error"))
                raise OSError(5, "Input/output error")
            return append(log, *arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(Log, "append_batches", fail)
        broker.local.replicas.moves.ask(ORDERS, str(target.root))
        wait_until(lambda: target.failure is not None and broker.local.replicas.moves.wanted(ORDERS) is None)
        assert place(broker) == source
        assert not produce(str(broker.local.address), ORDERS.topic, [b"more"])
        assert values(broker) == [*VALUES, b"more"]


def test_a_source_whose_disk_fails_before_the_copy_takes_its_place_has_the_partition_still(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with alone(*roots) as broker:
        assert not produce(str(broker.local.address), ORDERS.topic, VALUES)
        source = next(root for root in broker.local.directories.roots if root.root == place(broker))
        target = other(roots, source.root)
        monkeypatch.setattr(ReplicaSwitch, "make", lambda *_: None)
        broker.local.replicas.moves.ask(ORDERS, str(target))
        wait_until(lambda: assigned(broker) == id_of(target))
        broker.local.replicas.moves.stop()
        assert not produce(str(broker.local.address), ORDERS.topic, [b"more"])
        source._disk.fail(OSError(5, "Input/output error"))
        wait_until(lambda: assigned(broker) == id_of(source.root))
        wait_until(lambda: not state(broker).has_leader)
        assert directories(target) == [DirectoryMark.FUTURE]
        monkeypatch.undo()
    with alone(*roots) as again:
        assert values(again) == [*VALUES, b"more"]


def test_kafkas_tools_move_a_partition_and_tell_where_it_is(
    roots: list[Path], tmp_path: Path, release: KafkaRelease
) -> None:
    with KafkaTools(release) as java, alone(*roots) as broker:
        tools = Tools(broker, java, tmp_path, 0)
        assert not produce(tools.bootstrap, ORDERS.topic, VALUES)
        source = place(broker)
        target = other(roots, source)
        plan = tmp_path / "plan.json"
        entry = {"topic": ORDERS.topic, "partition": 0, "replicas": [1], "log_dirs": [str(target)]}
        plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
        asked = ("kafka-reassign-partitions", "--reassignment-json-file", plan)
        assert "Successfully started moving log directory to" in tools.run(*asked, "--execute")
        tools.run_until("Reassignment of replica orders-0-1 completed successfully.", *asked, "--verify")
        told = tools.run("kafka-log-dirs", "--describe", "--topic-list", ORDERS.topic)
        (described,) = json.loads(told.splitlines()[-1])["brokers"]
        held = {each["logDir"]: each["partitions"] for each in described["logDirs"]}
        size = broker.local.replicas.hosted[ORDERS].log.size
        entry = {"partition": "orders-0", "size": size, "offsetLag": 0, "isFuture": False}
        assert held == {str(target): [entry], str(source): []}
        assert values(broker) == VALUES
    assert_sound(roots)
