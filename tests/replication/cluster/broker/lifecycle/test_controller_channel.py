"""A request reaches whichever controller leads, or its failure says what was met."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Thread, Timer

import pytest

from replication.cluster.broker.lifecycle.controller_channel import ControllerChannel
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.quorum.active_controller import ActiveController
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.error_code import ErrorCode
from replication.wire.errors import UnsupportedVersionError
from tests.oracle.broker import free_port
from tests.replication.cluster.broker.lifecycle.scripted_controller import (
    HEARTBEAT,
    REGISTRATION,
    ScriptedController,
    alive,
    registered,
)
from tests.replication.waiting import SECONDS, wait_until
from tests.replication.wire.fake_broker import FakeBroker, Silence

LONG_MS, SHORT_MS = 30_000, 300


def channel_to(address: Address | None, retry_timeout_ms: int = LONG_MS) -> tuple[ControllerChannel, ActiveController]:
    controller = ActiveController()
    if address is not None:
        controller.found(address)
    return ControllerChannel(controller, ClientSettings(), retry_timeout_ms), controller


def test_a_controller_answers_on_one_connection() -> None:
    with ScriptedController().listen() as broker, closing(channel_to(broker.address)[0]) as channel:
        assert channel.ask(REGISTRATION) == registered()
        assert channel.ask(HEARTBEAT) == alive()
        assert channel.address == broker.address
        assert broker.connections == 1


def test_an_error_is_an_answer() -> None:
    script = ScriptedController(errors=[ErrorCode.STALE_BROKER_EPOCH])
    with script.listen() as broker, closing(channel_to(broker.address)[0]) as channel:
        assert channel.ask(HEARTBEAT).error is ErrorCode.STALE_BROKER_EPOCH
        assert len(script.asked) == 1


def test_who_leads_no_more_is_left_for_who_does() -> None:
    old, new = ScriptedController(errors=[ErrorCode.NOT_CONTROLLER] * 1_000), ScriptedController()
    with old.listen() as first, new.listen() as second:
        channel, controller = channel_to(first.address)
        with closing(channel):
            timer = Timer(0.2, lambda: controller.found(second.address))
            timer.start()
            assert channel.ask(HEARTBEAT) == alive()
            timer.join()
            assert channel.address == second.address
        assert len(old.asked) >= 1
        assert len(new.asked) == 1


def test_a_connection_that_breaks_is_made_anew() -> None:
    script = ScriptedController(errors=[None, None])
    with script.listen() as broker, closing(channel_to(broker.address)[0]) as channel:
        assert channel.ask(HEARTBEAT) == alive()
        assert broker.connections == 3


def test_what_was_asked_over_a_connection_that_broke_may_arrive_late() -> None:
    with ScriptedController().listen() as broker, closing(channel_to(broker.address)[0]) as channel:
        channel.ask(HEARTBEAT)
        assert not channel.may_arrive_late
    script = ScriptedController(errors=[None])
    with script.listen() as broker, closing(channel_to(broker.address)[0]) as channel:
        channel.ask(HEARTBEAT)
        assert channel.may_arrive_late


def test_what_could_not_be_sent_does_not_arrive() -> None:
    with closing(channel_to(Address("127.0.0.1", free_port()), SHORT_MS)[0]) as channel:
        with pytest.raises(NoControllerError):
            channel.ask(HEARTBEAT)
        assert not channel.may_arrive_late


def test_who_leads_may_become_known_meanwhile() -> None:
    with ScriptedController().listen() as broker:
        channel, controller = channel_to(None)
        with closing(channel):
            timer = Timer(0.1, lambda: controller.found(broker.address))
            timer.start()
            assert channel.ask(HEARTBEAT) == alive()
            timer.join()


def test_nobody_who_leads_is_an_error_in_the_end() -> None:
    with (
        closing(channel_to(None, SHORT_MS)[0]) as channel,
        pytest.raises(NoControllerError, match="the quorum's leader is not known"),
    ):
        channel.ask(HEARTBEAT)


def test_what_kept_it_from_being_found_is_told() -> None:
    channel, controller = channel_to(None, SHORT_MS)
    controller.lost("127.0.0.1:9: cannot connect")
    controller.lost()
    with closing(channel), pytest.raises(NoControllerError, match=r"no active controller answers: 127\.0\.0\.1:9: "):
        channel.ask(HEARTBEAT)
    controller.found(Address("127.0.0.1", 9))
    assert controller.trouble == ""


def test_nobody_who_listens_is_an_error_in_the_end_with_the_address() -> None:
    address = Address("127.0.0.1", free_port())
    with (
        closing(channel_to(address, SHORT_MS)[0]) as channel,
        pytest.raises(NoControllerError, match=f"{address}: cannot connect: Connection refused"),
    ):
        channel.ask(HEARTBEAT)


def test_who_does_not_answer_is_given_up_in_the_time_of_the_request() -> None:
    script = ScriptedController(silent=True)
    with (
        script.listen() as broker,
        closing(channel_to(broker.address)[0]) as channel,
        pytest.raises(NoControllerError, match="no response to BrokerHeartbeat v2 within"),
    ):
        channel.ask(HEARTBEAT, timeout_ms=SHORT_MS)
    script.ended.set()


def test_who_does_not_even_greet_is_given_up_in_the_time_of_the_request() -> None:
    script = Silence()
    with (
        FakeBroker(script.wait) as broker,
        closing(channel_to(broker.address)[0]) as channel,
        pytest.raises(NoControllerError, match="no response to ApiVersions"),
    ):
        channel.ask(HEARTBEAT, timeout_ms=SHORT_MS)
    assert not script.kept_waiting
    script.end()


def test_who_does_not_answer_is_left_as_soon_as_another_leads() -> None:
    old, new = ScriptedController(silent=True), ScriptedController()
    with old.listen() as first, new.listen() as second:
        channel, controller = channel_to(first.address)
        with closing(channel), ThreadPoolExecutor() as asking:
            answer = asking.submit(channel.ask, HEARTBEAT)
            wait_until(lambda: bool(old.asked), "the first is asked")
            controller.found(second.address)
            assert answer.result(SECONDS) == alive()
            assert channel.may_arrive_late
        assert not old.kept_waiting
        old.ended.set()


def test_who_does_not_answer_is_asked_anew_after_it_was_not_known_to_lead() -> None:
    script = ScriptedController(silent=True)
    with script.listen() as broker:
        channel, controller = channel_to(broker.address)
        with closing(channel), ThreadPoolExecutor() as asking:
            answer = asking.submit(channel.ask, HEARTBEAT)
            wait_until(lambda: bool(script.asked), "it is asked")
            script.silent = False
            controller.lost()
            controller.found(broker.address)
            assert answer.result(SECONDS) == alive()
        assert not script.kept_waiting
        assert broker.connections == 2
        script.ended.set()


def test_who_still_leads_goes_on_to_be_waited_for() -> None:
    with ScriptedController().listen() as broker:
        channel, controller = channel_to(broker.address)
        with closing(channel):
            for _ in range(2):
                assert channel.ask(HEARTBEAT) == alive()
                controller.found(broker.address)
        assert broker.connections == 1


def test_a_controller_that_speaks_no_version_is_an_error_at_once() -> None:
    script = ScriptedController(spoken={18: range(5)})
    with (
        script.listen() as broker,
        closing(channel_to(broker.address)[0]) as channel,
        pytest.raises(UnsupportedVersionError, match="BrokerHeartbeat is supported in none"),
    ):
        channel.ask(HEARTBEAT)


def test_it_can_be_closed_while_it_waits() -> None:
    script, errors = ScriptedController(silent=True), []

    def ask() -> None:
        with pytest.raises(NoControllerError, match="was closed") as caught:
            channel.ask(HEARTBEAT)
        errors.append(caught)

    with script.listen() as broker:
        channel, _ = channel_to(broker.address)
        thread = Thread(target=ask)
        thread.start()
        while not script.asked:
            thread.join(0.01)
        channel.close()
        thread.join(LONG_MS / 1_000)
        script.ended.set()
    assert len(errors) == 1
