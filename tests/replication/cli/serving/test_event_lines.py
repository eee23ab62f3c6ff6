"""What `epochlog broker` prints of its partitions: each line is as the schema says."""

import json
import logging
import os
from contextlib import suppress
from dataclasses import replace
from threading import Thread

import pytest

from replication.cli.serving.event_lines import events_printed
from replication.cluster.broker.events.event_log import LOGGER_NAME, BrokerEvent, log_event
from replication.cluster.broker.events.partition_events import Standing
from replication.cluster.broker.events.trouble_events import TroubleKind
from tests.replication.cli.schemas import validate
from tests.replication.cluster.broker.events.samples import (
    COORDINATES,
    CUT,
    DAMAGE,
    DROPPED,
    ISR,
    LEAVING,
    LEFT,
    LEFT_BEHIND,
    LOST,
    OVER,
    RECOVERED,
    RECOVERY_CUT,
    ROLE,
    SHORT,
    TROUBLE,
)

ANY_TROUBLE = tuple(replace(TROUBLE, kind=kind) for kind in TroubleKind)
SHORT_OF_ONLY = replace(SHORT, state=replace(SHORT.state, replicas=(9,)), standing=Standing.ACCEPTED)
DEPARTURES = (LEAVING, LEFT, LEFT_BEHIND)
OF_REPLICAS = (DAMAGE, ROLE, ISR, CUT, LOST, SHORT, SHORT_OF_ONLY)
KNOWN = (*OF_REPLICAS, RECOVERY_CUT, RECOVERED, COORDINATES, OVER, *ANY_TROUBLE, *DEPARTURES)
UNKNOWN = (
    replace(COORDINATES, moves=None),
    replace(SHORT, short=replace(SHORT.short, first_offset=None, log_end_offset=None)),
    replace(DAMAGE, file=None, position=None, offset=None),
    replace(CUT, records=None, size=None),
    replace(ROLE, log_end_offset=None, high_watermark=None),
    replace(RECOVERY_CUT, report=replace(DROPPED, dropped=[])),
    replace(RECOVERY_CUT, report=replace(DROPPED, high_watermark_before=None)),
)
DEFINITIONS = {
    "role-change": "role_changed",
    "isr-change": "isr_changed",
    "truncation": "replica_truncated",
    "replica-lost": "replica_lost",
    "replica-short": "replica_short",
    "damage-read": "damage_read",
    "recovery-truncation": "recovery_truncated",
    "recovery": "directory_recovered",
    "coordinator-replicas": "coordinator_replicas",
    "trouble": "trouble_began",
    "trouble-over": "trouble_ended",
    "leaving": "broker_leaving",
    "left": "broker_left",
}


@pytest.mark.parametrize("event", [*KNOWN, *UNKNOWN], ids=lambda event: event.event)
def test_an_object_is_of_its_definition(event: BrokerEvent, capsys: pytest.CaptureFixture[str]) -> None:
    with events_printed(json=True):
        log_event(event)
    validate("broker", json.loads(capsys.readouterr().err), DEFINITIONS[event.event])


@pytest.mark.parametrize("kind", TroubleKind)
def test_trouble_of_each_kind_is_of_its_definition(kind: TroubleKind, capsys: pytest.CaptureFixture[str]) -> None:
    for event in (replace(TROUBLE, kind=kind), replace(OVER, kind=kind)):
        with events_printed(json=True):
            log_event(event)
        validate("broker", json.loads(capsys.readouterr().err), DEFINITIONS[event.event])


def test_a_line_of_text_begins_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    with events_printed(json=False):
        log_event(ROLE)
    time, event, rest = capsys.readouterr().err.split(" ", 2)
    assert (len(time), time[-1], event, rest.count("\n")) == (24, "Z", "event=role-change", 1)


@pytest.mark.parametrize("name", ["replication.cluster.broker.replicas.told_fetches", "epochlog.server"])
def test_other_warnings_are_lines_with_their_time_too(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for is_json in (True, False):
        with events_printed(json=is_json):
            logging.getLogger(name).warning("orders-0 is followed\nno more")
            logging.getLogger(name).handle(logging.LogRecord(name, logging.INFO, "", 0, "nobody asked", (), None))
    first, second = capsys.readouterr().err.splitlines()
    validate("broker", json.loads(first), "logged")
    assert json.loads(first)["why"] == "orders-0 is followed\nno more"
    assert second[24:] == r' event=log level=warning why="orders-0 is followed\nno more"'


def test_whoever_has_something_to_tell_does_not_wait_for_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(65_536))
    os.set_blocking(writer, True)
    with open(writer, "w", encoding="utf-8") as undrained, open(reader, "rb") as drained:
        monkeypatch.setattr("sys.stderr", undrained)
        with events_printed(json=True):
            teller = Thread(target=log_event, args=(ROLE,), daemon=True)
            teller.start()
            teller.join(30)
            assert not teller.is_alive()
            while b"role-change" not in drained.readline():
                pass


def test_afterwards_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with events_printed(json=False):
        pass
    log_event(ROLE)
    logging.getLogger("replication").warning("afterwards")
    assert capsys.readouterr().err == ""
    assert logging.getLogger(LOGGER_NAME).propagate
