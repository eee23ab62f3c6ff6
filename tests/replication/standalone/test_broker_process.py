"""A broker of ours as a process that is stopped and killed while real clients write, and goes on."""

import signal
from pathlib import Path

import confluent_kafka.admin as ck_admin
import pytest

from logstore import open_offline
from logstore.verify.verify import verify
from tests.replication.cli.command import epochlog
from tests.replication.serving.served_process import ServedProcess
from tests.replication.standalone.busy_producer import BusyProducer
from tests.replication.standalone.clients import SECONDS, produce, read


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


def test_a_topic_that_is_deleted_while_it_is_written_is_gone_and_others_are_written_on(tmp_path: Path) -> None:
    root = tmp_path / "logs"
    properties = tmp_path / "broker.properties"
    properties.write_text("auto.create.topics.enable=false\n")
    with ServedProcess(root, "--command-config", properties, is_broker=True) as broker:
        bootstrap = str(broker.address)
        administrator = ck_admin.AdminClient({"bootstrap.servers": bootstrap})
        for future in administrator.create_topics([ck_admin.NewTopic(name, 1) for name in ("gone", "kept")]).values():
            future.result(SECONDS)
        doomed = BusyProducer(bootstrap, "gone", wait_seconds=3)
        spared = BusyProducer(bootstrap, "kept")
        doomed.wait_for(100)
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


def assert_sound(root: Path) -> None:
    """Fail where anything in a directory needs attention."""
    found = list(verify(open_offline(root), records=True))
    assert [each for each in found if each.severity.needs_attention] == []
