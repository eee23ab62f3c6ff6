"""One line for each event, which people read and programs split."""

import logging
from dataclasses import replace

import pytest

from replication.cluster.broker.events.event_log import FIELDS, LOGGER_NAME, BrokerEvent, log_event
from replication.cluster.broker.events.partition_events import Role, Standing
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


def logged(caplog: pytest.LogCaptureFixture, event: BrokerEvent) -> logging.LogRecord:
    caplog.clear()
    with caplog.at_level(logging.INFO, LOGGER_NAME):
        log_event(event)
    (record,) = caplog.records
    return record


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            ROLE,
            (
                "event=role-change topic=orders partition=3 leader_epoch_before=6 leader_epoch=7 from=follower "
                "to=leader leader=9 log_end_offset=120 high_watermark=100 why=elected"
            ),
        ),
        (
            COORDINATES,
            (
                "event=coordinator-replicas topics=__consumer_offsets,__transaction_state partitions=3 "
                'why="this broker coordinates nothing, and clients find no coordinator where it leads one of these" '
                'next="kafka-reassign-partitions.sh --bootstrap-server broker9:9092 --reassignment-json-file '
                'moves.json --execute # moves.json has what is behind moves=" '
                'moves={"version":1,"partitions":[{"topic":"__consumer_offsets","partition":4,"replicas":[1,2]}]}'
            ),
        ),
        (
            ISR,
            (
                "event=isr-change topic=orders partition=3 leader_epoch=7 partition_epoch=12 from=9,1,2 to=9,2 "
                'log_end_offset=150 high_watermark=100 why="not caught up for 3000 ms: broker 1 at 100 of 150"'
            ),
        ),
        (
            CUT,
            (
                "event=truncation topic=orders partition=3 leader_epoch=8 last_epoch_before=7 last_epoch=5 from=150 "
                "to=100 records=50 bytes=4000 high_watermark=100 below_high_watermark=false "
                r'why="its epoch \"5\" ends at 100"'
            ),
        ),
        (
            LOST,
            (
                "event=replica-lost topic=orders partition=3 leader_epoch=8 from=lP_ODQaETWKSpmNnja0EVA "
                'to=/disk-2/kafka-logs only_replica=false why="its directory is no longer in log.dirs: '
                "it copies the leader's records\""
            ),
        ),
        (
            DAMAGE,
            (
                "event=damage-read topic=orders partition=3 file=/disk-1/orders-3/00000000000000000080.log "
                'position=1400 offset=95 why="the checksum of the batch of 300 bytes does not match" next="fetches '
                'of it fail with CORRUPT_MESSAGE; make another replica the leader, and copy this one from it"'
            ),
        ),
        (
            replace(SHORT, standing=Standing.USED),
            (
                "event=replica-short topic=orders partition=3 leader_epoch=8 leader=-1 directory=/disk-1/orders-3 "
                "log_end_offset=60 recovery_point=100 high_watermark=150 only_replica=false standing=used "
                'why="/disk-1/orders-3 ends at offset 60, but the checkpoint files said the recovery point 100 and the '
                'high watermark 150" next="it copies what it lacks from the leader"'
            ),
        ),
        (
            TROUBLE,
            (
                'event=trouble what=leader peer=broker1:9092 why="this broker cannot follow the leader: refused" '
                'next="it is tried again; check that the leader runs, can be reached, and lets this broker log in"'
            ),
        ),
        (OVER, "event=trouble-over what=controller lasted_ms=3500"),
        (
            RECOVERY_CUT,
            (
                "event=recovery-truncation topic=orders partition=3 directory=/disk-1/orders-3 "
                "file=00000000000000000080.log position=1400 from=140 to=100 records=40 bytes=2700 high_watermark=110 "
                """below_high_watermark=true why="a batch's checksum does not match; with it 1 segment behind" """
                'next="no replica is truncated to what is left while this broker lacks what it promised: it follows '
                "the leader, or event=replica-short says what to do; if no other replica has what was acknowledged, "
                'only a copy of the directory from before has it: see epochlog verify and epochlog dump --records"'
            ),
        ),
        (
            RECOVERED,
            (
                "event=recovery directory=/disk-1 logs=12 truncated_logs=1 segments=14 bytes=90000 lasted_ms=1500 "
                'why="the directory was not closed in order"'
            ),
        ),
        (LEAVING, 'event=leaving within_ms=30000 why="this broker was told to stop"'),
        (LEFT, 'event=left in_order=true took_ms=120 why="the controller has moved all that this broker led"'),
        (
            LEFT_BEHIND,
            (
                "event=left in_order=false took_ms=30000 "
                'why="the controller has not moved what it led: controller1:9093: no response" '
                'next="others lead once its session is over; check that the controllers run and can be reached"'
            ),
        ),
    ],
)
def test_each_is_one_line_of_fields(caplog: pytest.LogCaptureFixture, event: BrokerEvent, line: str) -> None:
    assert logged(caplog, event).getMessage() == line


def test_what_breaks_lines_stands_in_none() -> None:
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        logger = logging.getLogger(LOGGER_NAME)
        patch.setattr(logger, "isEnabledFor", lambda _: True)
        patch.setattr(logger, "log", lambda _level, form, line, **_: lines.append(form % line))
        log_event(replace(ROLE, why="a\nb=c"))
    assert lines[0].endswith(r'why="a\nb=c"')
    assert "\n" not in lines[0]


def test_what_is_not_known_of_recovery_is_not_claimed(caplog: pytest.LogCaptureFixture) -> None:
    """The checkpoint of the high watermark is seconds old: at or above it records may have been committed, too."""
    tail = replace(DROPPED.dropped[0], records=None, end_offset=None)
    report = replace(DROPPED, dropped=[tail], high_watermark_before=100)
    record = logged(caplog, replace(RECOVERY_CUT, report=report))
    fields = getattr(record, FIELDS)
    assert [fields[name] for name in ("from", "records", "below_high_watermark")] == [None, None, None]
    assert "below_high_watermark" not in record.getMessage()


def test_a_log_that_ends_early_without_damage_is_told_as_such(caplog: pytest.LogCaptureFixture) -> None:
    fields = getattr(logged(caplog, replace(RECOVERY_CUT, report=replace(DROPPED, dropped=[]))), FIELDS)
    assert (fields["file"], fields["bytes"], fields["to"], fields["below_high_watermark"]) == (None, 0, 100, True)
    assert fields["why"] == "no damage was found, but the log ends below its high watermark"


def test_the_record_has_all_fields_and_the_line_what_is_known(caplog: pytest.LogCaptureFixture) -> None:
    record = logged(caplog, replace(CUT, records=None, size=None))
    fields = getattr(record, FIELDS)
    assert (fields["from"], fields["to"], fields["below_high_watermark"]) == (150, 100, False)
    assert fields["records"] is None
    assert "records" not in record.getMessage()


@pytest.mark.parametrize(
    ("event", "level"),
    [
        (CUT, logging.INFO),
        (replace(CUT, is_below_high_watermark=True), logging.WARNING),
        (ROLE, logging.INFO),
        (replace(ROLE, after=Role.OFFLINE), logging.ERROR),
        (SHORT, logging.ERROR),
        (replace(SHORT, standing=Standing.USED), logging.WARNING),
        (replace(SHORT, standing=Standing.ACCEPTED, state=replace(SHORT.state, replicas=(9,))), logging.ERROR),
        (LOST, logging.WARNING),
        (replace(LOST, is_only=True), logging.ERROR),
        (TROUBLE, logging.WARNING),
        (OVER, logging.INFO),
        (RECOVERY_CUT, logging.WARNING),
        (COORDINATES, logging.WARNING),
        (RECOVERED, logging.INFO),
        (LEFT, logging.INFO),
        (LEFT_BEHIND, logging.WARNING),
    ],
)
def test_what_is_lost_is_said_louder(caplog: pytest.LogCaptureFixture, event: BrokerEvent, level: int) -> None:
    assert logged(caplog, event).levelno == level
