"""A Produce of one batch to one partition, and its answer without errors: so are most, of the flexible versions.

A few calls read and write their bytes. Whatever is not of this form is None here, valid or not, and left to the codec.
"""

import struct
from struct import Struct
from typing import Final, NamedTuple

from replication.records.codec.fields import Data, read_uvarint
from replication.wire.messages.compact_counts import EMPTY, NULL, ONE

ID_BYTES: Final = 16

_LONGEST_NAME: Final = 0x7E
"""Bytes of which the count takes one byte."""
_TAGS_SIZE: Final = 3
"""No tags of the partition, the topic and the request: a zero each."""
_START: Final = Struct(">bhibb")
"""The transactional id, acks, the timeout, the topics; and of a name its size."""
_START_BY_ID: Final = Struct(f">bhib{ID_BYTES}s")
_PARTITION: Final = Struct(">bi")
_ANSWERED: Final = Struct(">bihqqqbbBBiB")
"""The partitions, the one's number, error, three offsets and times, its errors by record, message and tags."""
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


class PlainProduce(NamedTuple):
    """What such a request says."""

    acks: int
    timeout_ms: int
    topic: str | bytes
    """Its name, or the bytes of its id."""
    partition: int
    records: memoryview


def read_plain(data: Data, *, by_id: bool) -> PlainProduce | None:
    """Read a request that takes up all the bytes."""
    view = memoryview(data)
    topic: str | bytes
    try:
        if by_id:
            transactional_id, acks, timeout_ms, topics, topic = _START_BY_ID.unpack_from(view)
            position = _START_BY_ID.size
        else:
            transactional_id, acks, timeout_ms, topics, name_size = _START.unpack_from(view)
            position = _START.size + name_size - 1
            if not _START.size < position < len(view):
                return None
            topic = str(view[_START.size : position], "utf-8")
        partitions, partition = _PARTITION.unpack_from(view, position)
        size, position = read_uvarint(view, position + _PARTITION.size)
    except (IndexError, ValueError, struct.error):
        return None
    end = len(view) - _TAGS_SIZE
    is_plain = transactional_id == NULL and topics == partitions == ONE
    if not is_plain or size == NULL or end - position != size - 1 or any(view[end:]):
        return None
    plain: PlainProduce = _build(PlainProduce, (acks, timeout_ms, topic, partition, view[position:end]))
    return plain


def write_plain(
    topic: bytes, partition: int, error: int, base_offset: int, time_ms: int, start_offset: int, throttle_ms: int
) -> bytes | None:
    """Return the bytes of an answer; `topic` is what `named` returns, or the bytes of its id."""
    try:
        answered = _ANSWERED.pack(
            ONE, partition, error, base_offset, time_ms, start_offset, EMPTY, NULL, 0, 0, throttle_ms, 0
        )
    except struct.error:
        return None
    return b"\2" + topic + answered


def named(topic: str) -> bytes | None:
    """Return a topic's name as it is written; None where it has no such form."""
    try:
        name = topic.encode()
    except UnicodeEncodeError:
        return None
    return bytes((len(name) + 1,)) + name if len(name) <= _LONGEST_NAME else None
