"""Annotated classes become bytes and come back, in versions that are flexible and in those before."""

import struct
import tracemalloc
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.records.codec.codec import Since, Struct, Structs, Tag, Until, codec_of
from replication.records.codec.fields import (
    Bool,
    Int8,
    Int32,
    Int32s,
    Int64,
    OptionalBytes,
    OptionalInt32s,
    OptionalString,
    OptionalUuids,
    String,
    Strings,
    UInt16,
    Uuid,
)
from replication.records.codec.rows import Columns

FLEXIBLE_SINCE = 2
UNREADABLE = (IndexError, OverflowError, ValueError, struct.error)
"""What a codec may raise for bytes."""


class Row(NamedTuple):
    """Of numbers alone, with one that comes and one that goes."""

    index: Int32
    old: Annotated[Int8, Until(1)] = 7
    epoch: Annotated[Int32, Since(1, ignorable=True)] = -1
    offset: Int64 = 0
    tagged: Annotated[Int64, Since(2, ignorable=True), Tag(3)] = 9


class Rows(NamedTuple):
    """Of nothing else."""

    rows: Annotated[tuple[Row, ...], Structs(Row)]


NO_ID = UUID(int=0)
FIRST = Row(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A field of each type."""

    flag: Bool = False
    port: UInt16 = 0
    name: String
    nickname: OptionalString = None
    data: OptionalBytes = None
    id: Uuid = NO_ID
    ids: OptionalUuids = None
    numbers: Int32s = ()
    more: OptionalInt32s = None
    names: Strings = ()
    row: Annotated[Row, Struct(Row)] = FIRST
    rows: Annotated[tuple[Row, ...] | None, Structs(Row, optional=True)] = None
    strict: Annotated[Int32, Since(1)] = 5


versions = st.integers(0, 3)
int32 = st.integers(-(2**31), 2**31 - 1)
rows = st.builds(Row, int32, st.just(7), st.just(-1), st.integers(-(2**63), 2**63 - 1), st.just(9))
wholes = st.builds(
    Whole,
    flag=st.booleans(),
    port=st.integers(0, 2**16 - 1),
    name=st.text(max_size=300),
    nickname=st.none() | st.text(max_size=3),
    data=st.none() | st.binary(max_size=200),
    id=st.uuids(),
    ids=st.none() | st.lists(st.uuids(), max_size=3).map(tuple),
    numbers=st.lists(int32, max_size=3).map(tuple),
    more=st.none() | st.lists(int32, max_size=200).map(tuple),
    names=st.lists(st.text(max_size=3), max_size=3).map(tuple),
    row=rows,
    rows=st.none() | st.lists(rows, max_size=3).map(tuple),
)


def _written(value: object, version: int) -> bytes:
    out = bytearray()
    codec_of(type(value), version, flexible=version >= FLEXIBLE_SINCE).write(out, value)
    return bytes(out)


def _read(kind: type, data: bytes | memoryview, version: int) -> object:
    value, end = codec_of(kind, version, flexible=version >= FLEXIBLE_SINCE).read(data, 0)
    assert end == len(data)
    return value


@given(wholes, versions)
def test_what_was_written_is_read_from_bytes_and_from_views(value: Whole, version: int) -> None:
    data = _written(value, version)
    assert _read(Whole, data, version) == value
    assert _read(Whole, memoryview(data), version) == value


@pytest.mark.parametrize(
    ("version", "row", "message"),
    [
        (0, Row(1, 2, 3, 4, 5), "00000001 02 0000000000000004"),
        (1, Row(1, 2, 3, 4, 5), "00000001 02 00000003 0000000000000004"),
        (2, Row(1, 2, 3, 4, 9), "00000001 00000003 0000000000000004 00"),
        (2, Row(1, 2, 3, 4, 5), "00000001 00000003 0000000000000004 01 03 08 0000000000000005"),
    ],
)
def test_each_version_has_its_own_fields(version: int, row: Row, message: str) -> None:
    assert _written(row, version) == bytes.fromhex(message)


def test_what_a_version_lacks_has_its_default_when_it_is_read() -> None:
    assert _read(Row, _written(Row(1, 2, 3, 4, 5), 0), 0) == Row(1, 2, -1, 4, 9)
    assert _read(Row, _written(Row(1, 2, 3, 4, 5), 2), 2) == Row(1, 7, 3, 4, 5)


@given(st.lists(st.tuples(int32, st.sampled_from([9, 9, 9, 5])), max_size=8), versions)
def test_many_rows_stand_one_after_another_with_tags_or_without(numbers: list[tuple[int, int]], version: int) -> None:
    many = tuple(Row(index, tagged=tagged) for index, tagged in numbers)
    data = _written(Rows(many), version)
    flexible = version >= FLEXIBLE_SINCE
    length = bytes([len(many) + 1]) if flexible else len(many).to_bytes(4)
    assert data == length + b"".join(_written(row, version) for row in many) + bytes(flexible)
    if many:
        assert _written(Rows(Columns(*zip(*many, strict=True))), version) == data  # type: ignore[arg-type]
    told = Rows(tuple(row if flexible else row._replace(tagged=9) for row in many))
    assert _read(Rows, data, version) == told
    assert _read(Rows, memoryview(data), version) == told


class Told(NamedTuple):
    """Of fields that are empty in most values."""

    index: Int32
    message: OptionalString = None
    name: String = ""
    offset: Int64 = 0
    data: OptionalBytes = None
    rows: Annotated[tuple[Row, ...] | None, Structs(Row, optional=True)] = None
    tagged: Annotated[Int64, Since(2, ignorable=True), Tag(3)] = 9


class Tellings(NamedTuple):
    """Of nothing else."""

    all: Annotated[tuple[Told, ...], Structs(Told)]


tellings = st.lists(
    st.builds(
        Told,
        int32,
        st.sampled_from([None, "", "a"]),
        st.sampled_from(["", "a"]),
        st.integers(-(2**63), 2**63 - 1),
        st.none() | st.sampled_from([b"", b"a"]).map(bytearray).map(memoryview),
        st.none() | st.lists(rows, max_size=1).map(tuple),
        st.sampled_from([9, 9, 9, 5]),
    ),
    max_size=3,
)
blanks = st.builds(Told, int32, st.none(), st.just(""), st.integers(0, 9), st.just(b""), st.just(()), st.just(9))


@given(tellings | st.lists(blanks, max_size=9), versions)
def test_many_values_are_written_as_each_of_them_is_whatever_is_empty_in_them(many: list[Told], version: int) -> None:
    flexible = version >= FLEXIBLE_SINCE
    length = bytes([len(many) + 1]) if flexible else len(many).to_bytes(4)
    each = b"".join(_written(told, version) for told in many)
    assert _written(Tellings(tuple(many)), version) == length + each + bytes(flexible)


@given(st.dictionaries(st.integers(0, 99), st.sampled_from([9, 5]), max_size=4), versions)
def test_so_are_columns_of_which_a_few_have_content(places: dict[int, int], version: int) -> None:
    many = [Told(number) for number in range(100)]
    for place, tagged in places.items():
        many[place] = Told(place, "a" if tagged == 9 else None, tagged=tagged)
    columns: Any = Columns(*zip(*many, strict=True))
    assert _written(Tellings(columns), version) == _written(Tellings(tuple(many)), version)


@pytest.mark.parametrize("version", [1, 2])
def test_null_is_refused_in_many_values_too(version: int) -> None:
    many = Tellings((Told(1, name=None),) * 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="null"):
        _written(many, version)


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("tagged", [9, 5])
def test_rows_can_be_read_as_plain_tuples_of_all_their_fields(version: int, tagged: int) -> None:
    class PlainRows(NamedTuple):
        rows: Annotated[tuple[Row, ...], Structs(Row, plain=True)]

    data = _written(Rows((Row(1, tagged=tagged),)), version)
    (row,) = _read(PlainRows, data, version).rows  # type: ignore[attr-defined]
    assert type(row) is tuple
    assert row == _read(Row, _written(Row(1, tagged=tagged), version), version)


@pytest.mark.parametrize("version", [0, 3])
def test_rows_that_are_refused_alone_are_refused_among_many(version: int) -> None:
    class Strict(NamedTuple):
        number: Int32
        strict: Annotated[Int32, Since(1)] = 5

    class Many(NamedTuple):
        rows: Annotated[tuple[Strict, ...], Structs(Strict)]

    if version == 0:
        with pytest.raises(ValueError, match="this version has no strict, which is 6"):
            _written(Many((Strict(1), Strict(1, 6))), version)
    else:
        assert _read(Many, _written(Many((Strict(1, 6),)), version), version) == Many((Strict(1, 6),))


def test_what_a_version_lacks_and_may_not_leave_out_is_refused() -> None:
    assert _read(Whole, _written(Whole(name="a", strict=6), 1), 1) == Whole(name="a", strict=6)
    with pytest.raises(ValueError, match="this version has no strict, which is 6"):
        _written(Whole(name="a", strict=6), 0)


def test_any_tuple_of_its_values_is_written_as_a_named_tuple() -> None:
    out = bytearray()
    codec_of(Row, 1, flexible=False).write(out, (1, 2, 3, 4, 5))  # type: ignore[arg-type]
    assert out == _written(Row(1, 2, 3, 4, 5), 1)


@pytest.mark.parametrize("version", [1, 2])
def test_strings_and_arrays_have_the_lengths_of_their_version(version: int) -> None:
    class Texts(NamedTuple):
        name: OptionalString
        names: Strings

    message = "0002 6162 00000001 0001 63" if version < FLEXIBLE_SINCE else "03 6162 02 02 63 00"
    assert _written(Texts("ab", ("c",)), version) == bytes.fromhex(message)
    null = "ffff 00000000" if version < FLEXIBLE_SINCE else "00 01 00"
    assert _written(Texts(None, ()), version) == bytes.fromhex(null)


@pytest.mark.parametrize("version", [0, 3])
def test_null_is_refused_where_a_value_must_be(version: int) -> None:
    with pytest.raises(ValueError, match="null"):
        _written(Whole(name=None), version)  # type: ignore[arg-type]


@given(wholes, versions, st.data())
def test_what_is_cut_short_is_refused(value: Whole, version: int, data: st.DataObject) -> None:
    message = _written(value, version)
    size = data.draw(st.integers(0, len(message) - 1))
    with pytest.raises(UNREADABLE):
        _read(Whole, message[:size], version)


@pytest.mark.parametrize("version", [0, 3])
def test_a_length_is_checked_before_anybody_makes_room(version: int) -> None:
    class Many(NamedTuple):
        rows: Annotated[tuple[Row, ...], Structs(Row)]

    class Numbers(NamedTuple):
        numbers: Int32s

    length = b"\x7f\xff\xff\xff" if version < FLEXIBLE_SINCE else b"\xff\xff\xff\xff\x07"
    for kind in (Many, Numbers):
        codec = codec_of(kind, version, flexible=version >= FLEXIBLE_SINCE)
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"2,147,483,64\d items"):
            codec.read(length + bytes(1_000), 0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
        tracemalloc.stop()


def test_items_that_take_no_bytes_cannot_be_counted() -> None:
    class Nothing(NamedTuple):
        later: Annotated[Int32, Since(1, ignorable=True)] = 0

    class Many(NamedTuple):
        items: Annotated[tuple[Nothing, ...], Structs(Nothing)] = ()

    assert codec_of(Many, 1, flexible=False)
    with pytest.raises(TypeError, match="no number of them is too many"):
        codec_of(Many, 0, flexible=False)


def test_a_length_below_null_is_refused() -> None:
    with pytest.raises(ValueError, match="-2 items"):
        _read(Whole, bytes(3) + b"\xff\xfe" + bytes(100), 0)


def test_the_least_size_is_that_of_the_smallest_value() -> None:
    for version in range(4):
        assert codec_of(Row, version, flexible=version >= FLEXIBLE_SINCE).least == len(_written(Row(0), version))
        smallest = Whole(name="", data=b"", row=Row(0))
        assert codec_of(Whole, version, flexible=version >= FLEXIBLE_SINCE).least == len(_written(smallest, version))
