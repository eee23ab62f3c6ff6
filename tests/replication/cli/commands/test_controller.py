"""`epochlog controller`: elected on a real ZooKeeper, replaced where it dies, and what it refuses."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from replication.cluster.controller.classic.errors import NoNodeError
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.classic.store.zookeeper_store import ZooKeeperStore
from tests.oracle.broker import free_port
from tests.oracle.zookeeper import ZooKeeperServer
from tests.replication.cli.command import epochlog
from tests.replication.cli.schemas import validate, validate_output

SECONDS = 300


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ZooKeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server.address


def properties(directory: Path, broker_id: int, **changes: object) -> Path:
    """Write a controller's file; underscores stand for dots."""
    given: dict[str, object] = {
        "broker.id": broker_id,
        "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
        "zookeeper.session.timeout.ms": 8_000,
        **{name.replace("_", "."): value for name, value in changes.items()},
    }
    path = directory / f"{broker_id}.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    return path


@contextmanager
def started(config: Path, zookeeper: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start one, and give what it prints."""
    command = [sys.executable, "-m", "replication.cli", "controller", "--config", str(config), "--json"]
    with (
        open(config.with_suffix(".err"), "w") as errors,
        subprocess.Popen(
            [*command, "--zookeeper", zookeeper], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            output: IO[str] | None = process.stdout
            assert output is not None
            told = output.readline()
            validate_output("controller", told)
            yield process, json.loads(told)
        finally:
            if process.poll() is None:
                process.kill()


def events(config: Path) -> list[dict[str, Any]]:
    whole, _, _ = config.with_suffix(".err").read_text().rpartition("\n")
    lines = [json.loads(line) for line in whole.splitlines()]
    for each in lines:
        validate("controller", each)
    return lines


def controller_at(admin: ZooKeeperStore) -> int | None:
    try:
        return nodes.decode_controller(nodes.CONTROLLER, admin.get(nodes.CONTROLLER).data)
    except NoNodeError:
        return None


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_it_prints_where_brokers_find_it_and_another_one_takes_over_where_it_dies(
    tmp_path: Path, zookeeper: str
) -> None:
    where = f"{zookeeper}/chroot"
    admin = ZooKeeperStore(where)
    first, second = (properties(tmp_path, broker_id, log_dirs="x") for broker_id in (1_001, 1_002))
    with started(first, where) as (dying, told):
        assert (told["broker_id"], told["zookeeper"], told["passed_over"]) == (1_001, where, ["log.dirs"])
        path = f"{nodes.BROKER_IDS}/1001"
        wait_for(lambda: admin.exists(path))
        (listener,) = nodes.decode_broker(path, admin.get(path).data, 0).listeners
        assert f"{listener.host}:{listener.port}" == told["address"]
        with started(second, where) as (process, _):
            dying.kill()
            wait_for(lambda: controller_at(admin) == 1_002)
            assert not admin.exists(path)
            assert int(admin.get(nodes.CONTROLLER_EPOCH).data) > 1
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
    assert controller_at(admin) is None
    assert admin.children(nodes.BROKER_IDS) == []
    admin.close()
    changes = [each["state"] for each in events(second) if each["event"] == "controller"]
    assert (changes[0], changes[-1]) == ("RunningAsController", "RunningAsBroker")


def test_it_goes_on_once_zookeeper_is_back_and_stops_whether_it_is_or_not(tmp_path: Path) -> None:
    config = properties(tmp_path, 1_003, zookeeper_session_timeout_ms=60_000)

    def said() -> str:
        return " ".join(each["why"] for each in events(config) if each["event"] == "log")

    with ZooKeeperServer(tmp_path) as server, started(config, server.ensemble) as (process, _):
        wait_for(lambda: any(each["event"] == "controller" for each in events(config)))
        server.stop()
        wait_for(lambda: "the connection to ZooKeeper is lost" in said())
        server.start()
        wait_for(lambda: "the connection to ZooKeeper is back" in said())
        server.stop()
        wait_for(lambda: said().count("the connection to ZooKeeper is lost") == 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0


def test_it_ends_where_a_broker_has_its_id(tmp_path: Path, zookeeper: str) -> None:
    where = f"{zookeeper}/taken"
    admin = ZooKeeperStore(where)
    admin.create(f"{nodes.BROKER_IDS}/7", b"{}", ephemeral=True)
    outcome = epochlog("controller", "--config", properties(tmp_path, 7), "--zookeeper", where)
    assert outcome.status == 2
    assert "/brokers/ids/7: this node exists already" in outcome.err
    assert controller_at(admin) is None
    admin.close()


def test_it_ends_where_no_zookeeper_answers(tmp_path: Path) -> None:
    config = properties(tmp_path, 7, zookeeper_connection_timeout_ms=1_000)
    nobody = f"127.0.0.1:{free_port()}"
    outcome = epochlog("controller", "--config", config, "--zookeeper", nobody, "--json")
    assert outcome.status == 2
    assert f"{nobody}: no ZooKeeper answers within 1 s" in outcome.document["error"]["message"]


def test_it_names_all_that_is_wrong_with_its_file(tmp_path: Path) -> None:
    config = properties(tmp_path, 7, authorizer_class_name="a.B", zookeeper_set_acl="true")
    outcome = epochlog("controller", "--config", config)
    assert outcome.status == 2
    for name in ("zookeeper.connect is missing", "authorizer.class.name is not", "zookeeper.set.acl is not"):
        assert name in outcome.err
