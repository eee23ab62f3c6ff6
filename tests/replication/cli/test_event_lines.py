"""What `epochlog broker` prints of its partitions: each line is as the schema says."""

import json
import logging
from dataclasses import replace

import pytest

from replication.broker.events.event_log import LOGGER_NAME, log_event
from replication.broker.events.partition_events import PartitionEvent
from replication.cli.event_lines import events_printed
from tests.replication.broker.events.test_event_log import CUT, ISR, ROLE
from tests.replication.cli.schemas import validate

UNKNOWN = (replace(CUT, records=None, size=None), replace(ROLE, log_end_offset=None, high_watermark=None))
DEFINITIONS = {"role-change": "role_changed", "isr-change": "isr_changed", "truncation": "replica_truncated"}


@pytest.mark.parametrize("event", [ROLE, ISR, CUT, *UNKNOWN], ids=lambda event: event.event)
def test_an_object_is_of_its_definition(event: PartitionEvent, capsys: pytest.CaptureFixture[str]) -> None:
    with events_printed(json=True):
        log_event(event)
    validate("broker", json.loads(capsys.readouterr().err), DEFINITIONS[event.event])


def test_a_line_of_text_begins_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    with events_printed(json=False):
        log_event(ROLE)
    time, event, rest = capsys.readouterr().err.split(" ", 2)
    assert (len(time), time[-1], event, rest.count("\n")) == (24, "Z", "event=role-change", 1)


def test_afterwards_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with events_printed(json=False):
        pass
    log_event(ROLE)
    assert capsys.readouterr().err == ""
    assert logging.getLogger(LOGGER_NAME).propagate
