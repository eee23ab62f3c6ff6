"""A Fetch request as bytes: kio's, but for the long part, its partitions, of which a follower may send thousands."""

import io
from collections.abc import Callable
from dataclasses import replace
from struct import Struct
from typing import Final

from kio.serial import writers
from kio.static.primitive import i32

from replication.protocol.messages.by_topic import by_topic
from replication.protocol.messages.fetch import API_KEY, FetchRequest, encode_fetch
from replication.protocol.wire.schema import request_classes, write

_FLEXIBLE: Final = 12
_BY_ID: Final = 13


def write_fetch(request: FetchRequest, version: int) -> bytes:
    """Return what `write` makes of `encode_fetch`, in an eighth of the time."""
    flexible = version >= _FLEXIBLE
    write_length = writers.write_compact_array_length if flexible else writers.write_legacy_array_length
    packed = _packer(version)
    topics = by_topic(request.partitions.items())
    buffer = io.BytesIO()
    write_length(buffer, i32(len(topics)))
    for topic, entries in topics.items():
        if version >= _BY_ID:
            buffer.write(request.topic_ids[topic].bytes)
        else:
            (writers.write_compact_string if flexible else writers.write_legacy_string)(buffer, topic)
        write_length(buffer, i32(len(entries)))
        buffer.write(b"".join([packed(index, *asked) for index, asked in entries]))
        if flexible:
            writers.write_empty_tagged_fields(buffer)
    rest = write(encode_fetch(replace(request, partitions={}), request_classes(API_KEY, version)))
    start = _topics_at(version)
    return rest[:start] + buffer.getvalue() + rest[start + (1 if flexible else 4) :]


def _topics_at(version: int) -> int:
    """Return where a request's topics begin: before them all fields are of fixed size."""
    if version < 7:
        return 17
    return 25 if version < 15 else 21


def _packer(version: int) -> Callable[[int, int, int, int, int, int], bytes]:
    """Return what packs one partition, given its index and its FetchPartition."""
    if version >= _FLEXIBLE:
        pack = Struct(">iiqiqiB").pack
        return lambda index, offset, size, epoch, last, start: pack(index, epoch, offset, last, start, size, 0)
    if version >= 9:
        pack = Struct(">iiqqi").pack
        return lambda index, offset, size, epoch, _, start: pack(index, epoch, offset, start, size)
    if version >= 5:
        pack = Struct(">iqqi").pack
        return lambda index, offset, size, _epoch, _, start: pack(index, offset, start, size)
    pack = Struct(">iqi").pack
    return lambda index, offset, size, *_: pack(index, offset, size)
