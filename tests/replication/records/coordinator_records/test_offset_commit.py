"""Committed offsets in all versions of their records, laid out by hand; real ones are in test_consumer_offsets."""

from struct import pack

import pytest

from replication.records.coordinator_records.offset_commit import (
    GroupPartition,
    read_group_partition,
    read_offset_commit,
)

TEXT = pack(">h", 4) + b"note"
VALUES = {
    0: pack(">hq", 0, 410) + TEXT + pack(">q", 1_700),
    1: pack(">hq", 1, 410) + TEXT + pack(">qq", 1_700, 1_900),
    2: pack(">hq", 2, 410) + TEXT + pack(">q", 1_700),
    3: pack(">hqi", 3, 410, 7) + TEXT + pack(">q", 1_700),
    4: pack(">hqi", 4, 410, 7) + b"\x05note" + pack(">q", 1_700) + b"\x01\x00\x10" + bytes(15) + b"\x09",
}


@pytest.mark.parametrize("version", VALUES)
def test_a_commit_is_read_in_each_version(version: int) -> None:
    commit = read_offset_commit(VALUES[version])
    assert commit is not None
    assert (commit.offset, commit.metadata, commit.commit_timestamp) == (410, "note", 1_700)
    assert commit.leader_epoch == (7 if version >= 3 else -1)
    assert commit.expire_timestamp == (1_900 if version == 1 else -1)
    assert commit.topic_id.int == (9 if version == 4 else 0)


@pytest.mark.parametrize("version", VALUES)
def test_a_commit_that_is_cut_short_is_none(version: int) -> None:
    whole = VALUES[version]
    assert all(read_offset_commit(whole[:size]) is None for size in range(len(whole)))


def test_later_versions_and_withdrawn_commits_are_none() -> None:
    assert read_offset_commit(pack(">h", 5) + VALUES[4][2:]) is None
    assert read_offset_commit(None) is None


@pytest.mark.parametrize("version", [0, 1])
def test_a_key_names_group_and_partition(version: int) -> None:
    key = pack(">hh", version, 4) + b"mail" + pack(">h", 6) + b"orders" + pack(">i", 3)
    assert read_group_partition(key) == GroupPartition("mail", "orders", 3)


def test_keys_of_groups_themselves_name_no_partition() -> None:
    assert read_group_partition(pack(">hh", 2, 4) + b"mail") is None
