"""Headers lead to a closed segment's end, or to what is none."""

from pathlib import Path

import pytest

from logstore.batch.layout import LOG_OVERHEAD, MAGIC_AT
from logstore.errors import InvalidBatchHeaderError
from logstore.file_name import FileKind, file_name
from logstore.recovery.segment_ends import LastBatch, end_of_segment
from tests.logstore.batches import batch, record


def write(directory: Path, content: bytes) -> None:
    (directory / file_name(FileKind.LOG, 5)).write_bytes(content)


def test_the_last_batch_is_found_from_any_batch_on(tmp_path: Path) -> None:
    first = batch(records=[record()], base_offset=5, leader_epoch=1)
    last = batch(records=[record(), record(offset_delta=1)], base_offset=6, leader_epoch=2)
    write(tmp_path, first + last)
    for position in (0, len(first)):
        assert end_of_segment(tmp_path, 5, position) == (8, LastBatch(6, 2))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_message_of_before_kafka_0_11_ends_within_the_file(tmp_path: Path, magic: int, beyond: int) -> None:
    """An older index may lead anywhere, also to bytes in which a magic of then stands where it does in a header."""
    message = bytearray(100)
    message[LOG_OVERHEAD - 4 : LOG_OVERHEAD] = (100 - LOG_OVERHEAD + beyond).to_bytes(4, "big")
    message[MAGIC_AT] = magic
    write(tmp_path, bytes(message))
    if beyond:
        with pytest.raises(InvalidBatchHeaderError):
            end_of_segment(tmp_path, 5, 0)
    else:
        assert end_of_segment(tmp_path, 5, 0) is None
