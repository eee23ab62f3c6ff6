"""How a broker asks to be registered, fails with its threads, and leaves."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka.admin import AdminClient

from logstore.directory.log_directories import LogDirectories
from replication.cluster.broker.events.event_log import FIELDS, LOGGER_NAME
from replication.cluster.broker.events.partition_events import Value
from replication.cluster.broker.lifecycle.controller_channel import Channel
from replication.cluster.broker.lifecycle.errors import RefusedByControllerError
from replication.cluster.node.controller_link import ControllerLink
from replication.cluster.standalone.formatting import ensure_formatted
from replication.node import BrokerNode, BrokerNodeSettings
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_registration import BrokerRegistrationResponse
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.replication.cluster.broker.lifecycle.scripted_channel import ScriptedChannel
from tests.replication.cluster.node.remote_cluster import CLUSTER, LOOPBACK, SECONDS, RemoteCluster

REFUSED = BrokerRegistrationResponse(error=ErrorCode.INVALID_REGISTRATION, broker_epoch=-1)


class Refusing:
    """A link to a controller that refuses the first registration for good."""

    def __init__(self) -> None:
        self.asked_by = ScriptedChannel()
        self.asked_by.answer(REFUSED)

    def begin(self, broker_id: int) -> None: ...

    def channel(self) -> Channel:
        return self.asked_by

    def close(self) -> None: ...


@pytest.mark.parametrize("seconds", [5, 600])
def test_registration_is_asked_for_as_long_as_the_settings_say(tmp_path: Path, seconds: int) -> None:
    ensure_formatted([tmp_path], 1, CLUSTER)
    link = Refusing()
    settings = BrokerNodeSettings(
        listener=ListenerSettings(address=LOOPBACK), registration_seconds=seconds, session_timeout_ms=3_600_000
    )
    with LogDirectories.open([tmp_path], replicated=True) as directories, pytest.raises(RefusedByControllerError):
        BrokerNode(cast("ControllerLink", cast("Any", link)), directories, settings)
    milliseconds = link.asked_by.timeouts[0]
    assert milliseconds is not None
    assert (seconds - 5) * 1_000 < milliseconds <= seconds * 1_000


@pytest.mark.parametrize(("session_timeout_ms", "milliseconds"), [(None, 4_500), (3_000, 1_500)])
def test_a_controller_that_hangs_is_waited_for_half_a_session(
    tmp_path: Path, session_timeout_ms: int | None, milliseconds: int
) -> None:
    ensure_formatted([tmp_path], 1, CLUSTER)
    link = Refusing()
    settings = BrokerNodeSettings(listener=ListenerSettings(address=LOOPBACK), session_timeout_ms=session_timeout_ms)
    with LogDirectories.open([tmp_path], replicated=True) as directories, pytest.raises(RefusedByControllerError):
        BrokerNode(cast("ControllerLink", cast("Any", link)), directories, settings)
    assert link.asked_by.timeouts == [milliseconds]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_it_fails_with_the_thread_that_makes_missing_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = RuntimeError("as if there were a fault")

    def failing(*_: object) -> None:
        raise failure

    monkeypatch.setattr("replication.cluster.node.missing_topics.create_missing", failing)
    with RemoteCluster(tmp_path, 1) as cluster:
        node = cluster.brokers[1].node
        assert node.failure is None
        AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics("orders", timeout=SECONDS)
        cluster.wait_until(lambda: node.failure is failure)


def test_it_tells_that_it_leaves_and_whether_the_controller_has_let_it_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER_NAME)
    with RemoteCluster(tmp_path, 2, controlled_shutdown_seconds=1) as cluster:
        cluster.stop(1)
        assert departures(caplog) == [("leaving", None), ("left", True)]
        caplog.clear()
        cluster.controller.close()
        cluster.stop(2)
        assert departures(caplog) == [("leaving", None), ("left", False)]
        assert "the controller has not moved what it led: " in caplog.text


def departures(caplog: pytest.LogCaptureFixture) -> list[tuple[Value, Value]]:
    fields: list[Mapping[str, Value]] = [getattr(each, FIELDS) for each in caplog.records if hasattr(each, FIELDS)]
    return [(each["event"], each.get("in_order")) for each in fields if each["event"] in {"leaving", "left"}]
