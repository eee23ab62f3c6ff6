"""How many items are read of one message, whatever it announces."""

from typing import Annotated, NamedTuple

import pytest

from replication.records.codec.codec import Codec, Structs, codec_of
from replication.records.codec.fields import Int32, Int32s, Strings, write_uvarint
from replication.records.codec.item_limit import at_most_items


class Topic(NamedTuple):
    name: Int32
    partitions: Int32s


class Message(NamedTuple):
    names: Strings
    topics: Annotated[tuple[Topic, ...], Structs(Topic)]


CODEC: Codec[Message] = codec_of(Message, 0, flexible=True)


def written(names: int, topics: int, partitions: int = 0) -> bytes:
    out = bytearray()
    CODEC.write(out, Message(("",) * names, (Topic(1, (7,) * partitions),) * topics))
    return bytes(out)


def test_items_of_all_arrays_count_together() -> None:
    data = written(6, 4)
    with at_most_items(10):
        assert CODEC.read(data, 0)[0].topics == (Topic(1, ()),) * 4
    with at_most_items(9), pytest.raises(ValueError, match="4 more items"):
        CODEC.read(data, 0)
    assert CODEC.read(data, 0)[0].names == ("",) * 6


def test_numbers_count_less() -> None:
    data = written(0, 1, 80)
    with at_most_items(12):
        assert len(CODEC.read(data, 0)[0].topics[0].partitions) == 80
    with at_most_items(11), pytest.raises(ValueError, match="more items"):
        CODEC.read(data, 0)


def test_tags_that_nobody_knows_count_too() -> None:
    data = bytearray(written(0, 0)[:-1])
    write_uvarint(data, 5)
    for number in range(5):
        data += bytes([100 + number, 0])
    with at_most_items(5):
        assert CODEC.read(bytes(data), 0)[1] == len(data)
    with at_most_items(4), pytest.raises(ValueError, match="5 more items"):
        CODEC.read(bytes(data), 0)
