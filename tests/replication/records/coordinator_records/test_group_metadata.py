"""Groups as `__consumer_offsets` keeps them, in the layout of each version."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.records.coordinator_records.group_metadata import SavedMember, read_group, read_group_metadata

KEY = pack(">hh", 2, 4) + b"mail"


def text(value: str | None) -> bytes:
    return pack(">h", -1) if value is None else pack(">h", len(value)) + value.encode()


def member(version: int) -> bytes:
    return b"".join(
        [
            text("m-1"),
            text("here") if version >= 3 else b"",
            text("client"),
            text("/127.0.0.1"),
            pack(">i", 300_000) if version >= 1 else b"",
            pack(">i", 45_000),
            pack(">i", 3) + b"sub",
            pack(">i", 2) + b"as",
        ]
    )


def group(version: int) -> bytes:
    stamp = pack(">q", 1_700) if version >= 2 else b""
    head = pack(">h", version) + text("consumer") + pack(">i", 7) + text("range") + text("m-1") + stamp
    return head + pack(">i", 1) + member(version)


@pytest.mark.parametrize("version", range(4))
def test_a_group_is_read_in_each_version(version: int) -> None:
    found = read_group_metadata(group(version))
    assert found is not None
    assert (found.protocol_type, found.generation, found.protocol, found.leader) == ("consumer", 7, "range", "m-1")
    assert found.current_state_timestamp == (1_700 if version >= 2 else -1)
    rebalance_ms, instance = (300_000 if version >= 1 else -1), ("here" if version >= 3 else None)
    assert found.members == (SavedMember("m-1", instance, "client", "/127.0.0.1", rebalance_ms, 45_000, b"sub", b"as"),)


def test_a_group_without_members_has_no_protocol_and_no_leader() -> None:
    value = pack(">h", 3) + text("consumer") + pack(">i", 8) + text(None) + text(None) + pack(">qi", 1_700, 0)
    found = read_group_metadata(value)
    assert found is not None
    assert (found.protocol, found.leader, found.members) == (None, None, ())


@pytest.mark.parametrize("version", range(4))
def test_a_group_that_is_cut_short_is_none(version: int) -> None:
    assert all(read_group_metadata(group(version)[:size]) is None for size in range(len(group(version))))


def test_later_versions_and_deleted_groups_are_none() -> None:
    assert read_group_metadata(pack(">h", 5) + group(3)[2:]) is None
    assert read_group_metadata(None) is None


def test_a_key_names_the_group() -> None:
    assert read_group(KEY) == "mail"


@pytest.mark.parametrize("version", [0, 1, 3, 4, -1])
def test_keys_of_all_else_name_no_group(version: int) -> None:
    assert read_group(pack(">h", version) + KEY[2:]) is None


@given(st.binary(max_size=60))
def test_what_cannot_be_read_is_none_or_a_group(data: bytes) -> None:
    for version in range(6):
        read_group_metadata(version.to_bytes(2) + data)
    read_group(data)
