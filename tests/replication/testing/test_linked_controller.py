"""A broker's way to its controller, over a link that is cut: what it asks by is otherwise what it would be without."""

from typing import Any, cast

import pytest

from replication.cluster.broker.lifecycle.controller_channel import Channel
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.node.controller_link import ControllerLink
from replication.testing import CONTROLLER, Links
from replication.testing.linked_controller import LinkedController
from tests.replication.cluster.broker.lifecycle.scripted_channel import ScriptedChannel
from tests.replication.cluster.broker.lifecycle.scripted_controller import HEARTBEAT, alive


class Behind:
    """The link that is whole."""

    def __init__(self) -> None:
        self.asked_by = ScriptedChannel()

    def channel(self) -> Channel:
        return self.asked_by


@pytest.fixture
def behind() -> Behind:
    return Behind()


def linked(behind: Behind, links: Links) -> Channel:
    return LinkedController(cast("ControllerLink", cast("Any", behind)), 1, links).channel()


@pytest.mark.parametrize("late", [False, True])
def test_whether_something_may_arrive_late_is_said_by_the_channel_behind(behind: Behind, late: bool) -> None:
    channel = linked(behind, Links())
    behind.asked_by.may_arrive_late = late
    assert channel.may_arrive_late is late


def test_whom_it_asks_is_who_is_asked_behind(behind: Behind) -> None:
    assert linked(behind, Links()).address == behind.asked_by.address


def test_nothing_is_asked_while_the_link_is_cut(behind: Behind) -> None:
    links = Links()
    channel = linked(behind, links)
    links.cut(1, CONTROLLER)
    with pytest.raises(NoControllerError, match="broker 1 is cut off"):
        channel.ask(HEARTBEAT)
    assert behind.asked_by.requests.empty()
    links.heal()
    behind.asked_by.answer(alive())
    assert channel.ask(HEARTBEAT) == alive()
