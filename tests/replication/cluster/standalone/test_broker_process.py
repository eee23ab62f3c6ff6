"""A broker of ours as a process that is stopped and killed while real clients write, and goes on."""

import random
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from struct import pack

import confluent_kafka as ck
import confluent_kafka.admin as ck_admin
import pytest

from logstore import open_offline
from logstore.verify.verify import verify
from replication.wire.addresses import Address
from tests.campaign import Campaign
from tests.conftest import require
from tests.replication.cli.command import epochlog
from tests.replication.cluster.serving.served_process import ServedProcess
from tests.replication.cluster.standalone.busy_producer import BusyProducer
from tests.replication.cluster.standalone.clients import SECONDS, produce, read
from tests.small_disk import SmallDisk, small_disk

MOVES = Campaign("moves between directories: kills", full=20, share=4)
KILLS = 4
"""Of one broker, which goes on after each."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_an_idempotent_producer_goes_on_after_a_restart_with_each_record_once_and_in_order(
    tmp_path: Path, number: signal.Signals
) -> None:
    root = tmp_path / "logs"
    first = ServedProcess(root, is_broker=True)
    producer = BusyProducer(str(first.address), "numbers")
    producer.wait_for(500)
    assert first.end(number) == (0 if number is signal.SIGTERM else -number)
    second = ServedProcess(root, is_broker=True, port=first.address.port)
    producer.wait_for(500)
    assert second.end(number) == (0 if number is signal.SIGTERM else -number)
    with ServedProcess(root, is_broker=True, port=first.address.port) as third:
        producer.wait_for(500)
        producer.stop()
        records = read(str(third.address), "numbers")
    assert producer.errors == []
    assert [int(each.value or b"") for each in records] == list(range(producer.count))
    assert producer.acknowledged == [(each.offset, int(each.value or b"")) for each in records]
    assert_sound(root)


@pytest.mark.parametrize("life", range(MOVES.count // KILLS))
def test_a_broker_that_is_killed_again_and_again_while_a_partition_moves_loses_nothing_of_it(
    tmp_path: Path, life: int
) -> None:
    roots = [tmp_path / "one", tmp_path / "other"]
    rng = random.Random(f"{MOVES.seed} {life}")
    broker = ServedProcess(*roots, is_broker=True)
    port = broker.address.port
    producer = BusyProducer(str(broker.address), "numbers", wait_seconds=10 * SECONDS)
    producer.wait_for(200)
    for _ in range(KILLS):
        move(broker.address, "numbers", rng.choice(roots))
        time.sleep(rng.random() * 0.3)
        assert broker.end(signal.SIGKILL) == -signal.SIGKILL
        broker = ServedProcess(*roots, is_broker=True, port=port)
        assert broker.told["offline"] == []
        producer.wait_for(50)
    with broker:
        producer.stop()
        records = read(str(broker.address), "numbers")
    assert producer.errors == []
    assert [int(each.value or b"") for each in records] == list(range(producer.count))
    assert producer.acknowledged == [(each.offset, int(each.value or b"")) for each in records]
    for root in roots:
        assert_sound(root)
    assert sum((root / "numbers-0").exists() for root in roots) == 1
    if life == MOVES.count // KILLS - 1:
        MOVES.report(MOVES.count)


def move(broker: Address, topic: str, root: Path) -> None:
    """Ask for partition 0 of a topic to be moved, by AlterReplicaLogDirs 1, and wait for the answer."""
    path, name = str(root).encode(), topic.encode()
    fields = pack(">hhih", 34, 1, 7, -1), pack(">ih", 1, len(path)), path, pack(">ih", 1, len(name)), name
    request = b"".join([*fields, pack(">ii", 1, 0)])
    with socket.create_connection(broker) as connection:
        connection.settimeout(SECONDS)
        connection.sendall(pack(">i", len(request)) + request)
        answer = connection.makefile("rb").read(4 + 4 + 4 + 4 + 2 + len(name) + 4 + 4 + 2)
    assert answer.endswith(pack(">iih", 1, 0, 0)), answer


def test_a_topic_that_is_deleted_while_it_is_written_is_gone_and_others_are_written_on(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    properties = tmp_path / "broker.properties"
    properties.write_text("auto.create.topics.enable=false\n")
    with ServedProcess(root, "--config", properties, is_broker=True) as broker:
        bootstrap = str(broker.address)
        make_topics(bootstrap, ["gone", "kept"])
        doomed = BusyProducer(bootstrap, "gone", wait_seconds=3)
        spared = BusyProducer(bootstrap, "kept")
        doomed.wait_for(100)
        administrator = ck_admin.AdminClient({"bootstrap.servers": bootstrap})
        administrator.delete_topics(["gone"])["gone"].result(SECONDS)
        doomed.wait_for_error()
        spared.wait_for(500)
        for each in (doomed, spared):
            each.stop()
        assert [int(each.value or b"") for each in read(bootstrap, "kept")] == list(range(spared.count))
    assert spared.errors == []
    assert not (root / "gone-0").exists()
    assert_sound(root)


def test_a_directory_that_another_process_has_open_is_refused_in_one_line(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    with ServedProcess(root, is_broker=True) as broker:
        assert not produce(str(broker.address), "orders", [b"one"])
        refused = epochlog("serve", root, "--listen", "127.0.0.1:0")
        validated = epochlog("serve", root, "--validate")
        assert [each.value for each in read(str(broker.address), "orders")] == [b"one"]
    assert refused.status == 2
    assert validated.status == 1
    for each in (refused, validated):
        assert str(root) in each.err
        assert "locked" in each.err
    assert_sound(root)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        require(available=disk.is_mounted, what="the right to mount a file system")
        yield disk


def test_while_a_disk_is_full_nothing_is_acknowledged_and_then_a_producer_goes_on(disk: SmallDisk) -> None:
    root = disk.path / "logs"
    with ServedProcess(root, is_broker=True) as broker:
        producer = BusyProducer(str(broker.address), "numbers")
        producer.wait_for(200)
        disk.fill()
        time.sleep(1)
        acknowledged = len(producer.acknowledged)
        time.sleep(1)
        assert len(producer.acknowledged) == acknowledged
        assert [int(each.value or b"") for each in read(str(broker.address), "numbers")][:200] == list(range(200))
        disk.make_space()
        producer.wait_for(500)
        producer.stop()
        records = read(str(broker.address), "numbers")
    assert producer.errors == []
    assert [int(each.value or b"") for each in records] == list(range(producer.count))
    assert producer.acknowledged == [(each.offset, int(each.value or b"")) for each in records]
    assert_sound(root)


def test_a_broker_that_cannot_write_its_metadata_ends_soon_and_starts_again_once_there_is_space(
    disk: SmallDisk, tmp_path: Path
) -> None:
    root = disk.path / "logs"
    with open(tmp_path / "errors", "w+") as errors:
        broker = ServedProcess(root, is_broker=True, errors=errors)
        assert not produce(str(broker.address), "orders", [b"one", b"two"])
        disk.fill()
        with pytest.raises(ck.KafkaException):
            make_topics(str(broker.address), [f"many-{number}" for number in range(200)])
        assert broker.wait(10) == 2
        errors.seek(0)
        assert "the broker cannot continue: [Errno 28] No space left on device" in errors.read()
    disk.make_space()
    with ServedProcess(root, is_broker=True) as again:
        assert [each.value for each in read(str(again.address), "orders")] == [b"one", b"two"]
        assert not produce(str(again.address), "many-0", [b"three"])
    assert_sound(root)


def make_topics(bootstrap: str, names: list[str]) -> None:
    """Make topics of one partition, one after the other. Raises KafkaException."""
    administrator = ck_admin.AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for name in names:
        administrator.create_topics([ck_admin.NewTopic(name, 1)])[name].result(SECONDS)


def assert_sound(root: Path) -> None:
    """Fail where anything in a directory needs attention."""
    found = list(verify(open_offline(root), records=True))
    assert [each for each in found if each.severity.needs_attention] == []
