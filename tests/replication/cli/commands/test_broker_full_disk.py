"""`epochlog broker` whose disk is full: its log and its metrics say so, and it goes on once there is space."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from replication.standalone import StandaloneController
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.conftest import require
from tests.replication.cli.command import epochlog
from tests.replication.cli.schemas import validate
from tests.replication.cli.settings.joining import joined, lone_properties
from tests.replication.cluster.node.metrics.scraping import scraped
from tests.replication.cluster.standalone.clients import SECONDS, produce, read
from tests.replication.waiting import wait_until
from tests.small_disk import SmallDisk, small_disk

CLUSTER = "full-disk-000000000000"
FULL = "epochlog_broker_log_directory_full"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        require(available=disk.is_mounted, what="the right to mount a file system")
        yield disk


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[str]:
    listener = ListenerSettings(name="CONTROLLER", address=Address("127.0.0.1", 0))
    with StandaloneController.open(tmp_path / "controller", listener, node_id=100, cluster_id=CLUSTER) as controller:
        yield str(controller.server.address)


def test_a_leader_says_so_once_and_acknowledges_again_once_there_is_space(
    tmp_path: Path, controller: str, disk: SmallDisk
) -> None:
    root, log = disk.path / "logs", tmp_path / "log"
    properties = {"metadata_log_dir": tmp_path / "metadata", "metrics_listener": 0}
    config = lone_properties(tmp_path, controller, log_dirs=root, **properties)
    assert epochlog("format", "--config", config, "--cluster-id", CLUSTER).status == 0

    def told() -> list[dict[str, Any]]:
        events = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        return [each for each in events if each.get("what") == "disk"]

    with open(log, "w") as errors, joined(config, errors) as (process, document):
        bootstrap = document["bootstrap"]
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(SECONDS)
        assert not produce(bootstrap, "orders", [b"before"])
        disk.fill()
        assert produce(bootstrap, "orders", [bytes(10_000)], **{"message.timeout.ms": 2_000})
        wait_until(lambda: len(told()) == 1)
        assert scraped(document["metrics"]).value(FULL, logDirectory=root) == 1
        disk.make_space()
        wait_until(lambda: len(told()) == 2)
        assert scraped(document["metrics"]).value(FULL, logDirectory=root) == 0
        assert not produce(bootstrap, "orders", [b"after"])
        assert [each.value for each in read(bootstrap, "orders")] == [b"before", b"after"]
        process.terminate()
        assert process.wait(SECONDS) == 0
    began, ended = told()
    validate("broker", began, "trouble_began")
    validate("broker", ended, "trouble_ended")
    assert began["peer"] == ended["peer"] == str(root)
    assert began["why"].startswith(f"No space left on device: {root}/")
