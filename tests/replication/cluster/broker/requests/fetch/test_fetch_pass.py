"""A partition that has nothing to give is answered as any other is, in a shorter way."""

import random

import pytest

from logstore import BatchTemplate, Log, LogClosedError, Record
from logstore.errors import CorruptBatchError
from logstore.log.readable_log import LogOffsets
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.requests.fetch.fetch_pass import FetchPass
from replication.cluster.broker.requests.fetch.fetch_terms import FetchTerms
from replication.wire.error_code import ErrorCode
from replication.wire.messages import fetch_form
from replication.wire.messages.fetch import VERSIONS, FetchPartition, FetchRequest, FetchResponse
from replication.wire.messages.replica_id import CONSUMER, DEBUGGER
from tests.campaign import run_seed
from tests.replication.cluster.broker.requests.small_broker import EPOCH, ORDERS, TOPIC, TOPIC_ID, SmallBroker, call

STEPS = 150
FOLLOWER = 2
DAMAGE = CorruptBatchError("it ends here", file=None, offset=0)


def change(broker: SmallBroker, dice: random.Random) -> None:
    """Let one thing happen to the log."""
    log = broker.log
    match dice.randrange(6):
        case 0:
            broker.append(b"a", b"b", commit=False)
        case 1:
            producer_id = dice.randrange(2)
            last = {producer.producer_id: producer.last_sequence for producer in log.producers}.get(producer_id, -1)
            template = BatchTemplate(
                producer_id=producer_id, producer_epoch=0, base_sequence=last + 1, is_transactional=True
            )
            log.append([Record.of(b"in doubt")], leader_epoch=EPOCH, template=template)
        case 2:
            for producer in log.producers:
                log.append_end_transaction(producer.producer_id, 0, commit=dice.random() < 0.5, leader_epoch=EPOCH)
        case 3:
            log.advance_high_watermark(dice.randint(log.high_watermark, log.log_end_offset))
        case 4:
            log.truncate_to(dice.randint(log.high_watermark, log.log_end_offset))
        case _:
            log.delete_records(dice.randint(log.log_start_offset, log.high_watermark))


@pytest.mark.parametrize("replica_id", [CONSUMER, DEBUGGER, FOLLOWER])
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_the_short_way_answers_byte_for_byte_what_the_long_one_does(
    broker: SmallBroker, replica_id: int, isolation_level: int
) -> None:
    dice = random.Random(run_seed())
    quiet = 0
    for _ in range(STEPS):
        change(broker, dice)
        hosted = HostedPartition(broker.log, EPOCH, topic_id=TOPIC_ID, damage=dice.choice([None, DAMAGE]))
        offset = dice.randint(broker.log.log_start_offset - 1, broker.log.log_end_offset + 1)
        asked = FetchPartition(offset, 1 << 20, last_fetched_epoch=dice.choice([-1, -1, EPOCH]))
        request = FetchRequest(partitions={ORDERS: asked}, replica_id=replica_id, isolation_level=isolation_level)
        terms = FetchTerms.of(request, call(version := dice.choice(VERSIONS)))
        short, long = FetchPass(broker.lookup, terms), FetchPass(broker.lookup, terms)
        long.is_anything_known = True
        answers = [
            short.read(ORDERS, hosted, TOPIC_ID, asked),
            long._look(ORDERS, hosted, asked, broker.log.offsets),
        ]
        written = [
            fetch_form.RESPONSE.write(FetchResponse(partitions={ORDERS: each}, topic_ids={TOPIC: TOPIC_ID}), version)
            for each in answers
        ]
        assert written[0] == written[1]
        assert (short.is_quiet, short.is_enough) == (long.is_quiet, long.is_enough)
        quiet += short.is_quiet
    assert 0 < quiet < STEPS


class _Left:
    """A log that is closed as it is looked at: the partition goes on with another one, or with none."""

    def __init__(self, hosted: HostedPartition, goes_on_with: Log | None) -> None:
        self._hosted = hosted
        self._goes_on_with = goes_on_with

    @property
    def offsets(self) -> LogOffsets:
        if self._goes_on_with is not None:
            self._hosted.log = self._goes_on_with
        raise LogClosedError("it is closed", file=None)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_partition_that_moves_as_it_is_looked_at_is_read_where_it_goes_on(
    broker: SmallBroker, *, goes_on: bool
) -> None:
    failures: list[Exception] = []
    hosted = HostedPartition(broker.log, EPOCH, topic_id=TOPIC_ID, on_failure=failures.append)
    hosted.log = _Left(hosted, broker.log if goes_on else None)  # type: ignore[assignment]
    asked = FetchPartition(broker.log.log_end_offset, 1 << 20)
    terms = FetchTerms.of(FetchRequest(partitions={ORDERS: asked}), call(VERSIONS[-1]))
    answer = FetchPass(broker.lookup, terms).read(ORDERS, hosted, TOPIC_ID, asked)
    assert answer.error is (ErrorCode.NONE if goes_on else ErrorCode.KAFKA_STORAGE_ERROR)
    assert len(failures) == (not goes_on)
