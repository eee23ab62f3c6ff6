"""Batches that are missing without a trace are put back only where the cleaner cannot have taken them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.offline.partition_directory import PartitionDirectory
from replication.repair import plan_repair
from tests.logstore.batches import batch, record
from tests.replication.partitions import ABatch, write_partition

Key = bytes | None


@dataclass(frozen=True)
class KeyedBatch(ABatch):
    """One record."""

    key: Key = b"k"
    value: bytes | None = b"v"

    def encoded(self) -> bytes:
        content = record(key=self.key, value=self.value)
        return batch(records=[content], base_offset=self.base_offset, leader_epoch=self.epoch)


def healed(
    tmp_path: Path, keys: Sequence[Key], *, value: bytes | None = b"v", root: bool = False, lacks: int = 1
) -> bool:
    """Whether the batch at an offset is put back, where one copy lacks it."""
    batches = [KeyedBatch(n, 1, 0, key=key, value=value if n == lacks else b"v") for n, key in enumerate(keys)]
    damaged = write_partition(tmp_path / "a", [each for each in batches if each.base_offset != lacks], [(0, 0)])
    other = write_partition(tmp_path / "b", batches, [(0, 0)])
    if root:
        (tmp_path / "a" / "replication-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, len(keys))]))
    plan = plan_repair(PartitionDirectory.open(damaged), [PartitionDirectory.open(other)])
    assert bool(plan.healed) is not bool(plan.left)
    assert plan.healed or "the cleaner may have taken what is missing" in plan.left[0].why
    return bool(plan.healed)


@pytest.mark.parametrize(
    ("keys", "is_put_back"),
    [
        ([b"a", b"b", b"c"], True),
        ([b"a", b"b", b"b"], False),
        ([b"a", b"b", b"c", b"d", b"e", b"b"], False),
        ([b"b", b"b", b"c"], True),
        ([None, None, None], True),
    ],
)
def test_a_record_whose_key_comes_again_later_may_have_been_cleaned_away(
    keys: Sequence[Key], tmp_path: Path, *, is_put_back: bool
) -> None:
    assert healed(tmp_path, keys) is is_put_back


def test_so_may_a_tombstone(tmp_path: Path) -> None:
    assert not healed(tmp_path, [b"a", b"b", b"c"], value=None)


def test_the_checkpoint_files_of_the_brokers_root_tell_that_nothing_was_cleaned(tmp_path: Path) -> None:
    assert healed(tmp_path, [b"a", b"b", b"b"], root=True)
