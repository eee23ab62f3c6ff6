"""A Produce is an append: what is told and stored is what a log alone says and stores of the same batches."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from logstore import AppendError, CorruptBatchError, DecompressionError, Log
from replication.cluster.broker.requests.writing.append_refusal import append_error
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.broker.requests.writing.leading import LOG_CONFIG, WritingBroker
from tests.replication.cluster.broker.requests.writing.random_batches import RandomBatches

EPOCH = 5
BEFORE_THE_LOG = {
    ErrorCode.INVALID_RECORD,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""What a request is refused for before its partition is looked up."""


def append(log: Log, records: bytes) -> tuple[ErrorCode, int]:
    """What a log does with a batch: the code of what it raises, or the offset."""
    try:
        return ErrorCode.NONE, log.append(records, leader_epoch=EPOCH).first_offset
    except (AppendError, CorruptBatchError, DecompressionError) as error:
        return append_error(error), -1


@given(st.integers(0, 2**32))
def test_what_is_produced_is_what_a_log_appends(seed: int) -> None:
    batches = RandomBatches(random.Random(seed))
    with TemporaryDirectory() as directory:
        broker = WritingBroker(Path(directory))
        alone = Path(directory) / "alone-0"
        with Log.open(alone, LOG_CONFIG, replicated=True) as log:
            for _ in range(20):
                records = batches.any()
                told = broker.produce(records, acks=-1)
                if told.log_start_offset < 0 and told.error in BEFORE_THE_LOG:
                    error, _ = append(log, records)
                    assert error is not ErrorCode.NONE
                else:
                    assert (told.error, told.base_offset) == append(log, records)
            assert broker.log.read(0, 1 << 20).data == log.read(0, 1 << 20).data
            assert broker.log.producers == log.producers
        broker.close()
