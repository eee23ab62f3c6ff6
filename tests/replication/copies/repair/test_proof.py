"""What of another copy belongs into a damaged one, and what is left since nothing proves it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.offline.partition_directory import PartitionDirectory
from replication.repair import RepairPlan, plan_repair
from tests.replication.partitions import ABatch, write_partition

EPOCHS = [(0, 0), (2, 12), (3, 24)]


def batches(*, start: int = 0, end: int = 36, branch: str = "", branch_from: int = 0) -> list[ABatch]:
    """Of 3 records each, under three leaders."""
    return [
        ABatch(base, 3, 0 if base < 12 else 2 if base < 24 else 3, branch if base >= branch_from else "")
        for base in range(start, end, 3)
    ]


def write(
    directory: Path,
    held: Sequence[ABatch],
    epochs: Sequence[tuple[int, int]] = EPOCHS,
    *,
    segment_batches: int = 4,
    high_watermark: int | None = None,
) -> Path:
    return write_partition(directory, held, epochs, segment_batches=segment_batches, high_watermark=high_watermark)


def spoil(partition: Path, base_offset: int) -> None:
    """Flip a bit of the records of a batch."""
    for log in partition.glob("*.log"):
        data = bytearray(log.read_bytes())
        size = len(ABatch(0, 3, 0).encoded())
        for position in range(0, len(data), size):
            if int.from_bytes(data[position : position + 8], "big") == base_offset:
                data[position + size - 1] ^= 1
        log.write_bytes(data)


def plan(damaged: Path, *others: Path) -> RepairPlan:
    return plan_repair(PartitionDirectory.open(damaged), [PartitionDirectory.open(each) for each in others])


def healed(plan: RepairPlan) -> list[tuple[int, int]]:
    return [(each.first_offset, each.end_offset) for each in plan.healed]


def left(plan: RepairPlan) -> list[tuple[int, int | None]]:
    return [(each.first_offset, each.end_offset) for each in plan.left]


def test_a_batch_between_two_that_both_copies_have_is_proven(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches()), write(tmp_path / "b", batches(), segment_batches=5)
    spoil(damaged, 15)
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(15, 18)], ())
    assert found.healed[0].sources == ("b/t-0",)


def test_nothing_is_taken_of_a_copy_that_went_another_way_before(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", batches())
    other = write(tmp_path / "b", batches(branch="other", branch_from=12))
    spoil(damaged, 15)
    found = plan(damaged, other)
    assert (healed(found), left(found)[0]) == ([], (15, 18))
    assert "another batch before it, offsets 12 to 14" in found.left[0].why


def test_nothing_is_taken_of_a_copy_that_went_another_way_within_the_gap(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", batches())
    other = write(tmp_path / "b", batches(branch="other", branch_from=15))
    spoil(damaged, 15)
    found = plan(damaged, other)
    assert (healed(found), left(found)[0]) == ([], (15, 18))
    assert "another batch behind it, offsets 18 to 20" in found.left[0].why


def test_a_lost_end_is_filled_up_as_far_as_the_leader_epochs_are_shared(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", batches(end=15), high_watermark=36)
    other = write(tmp_path / "b", batches())
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(15, 36)], ())


def test_nothing_is_taken_from_beyond_a_fork(tmp_path: Path) -> None:
    """Of epoch 2 both have the same; then the damaged copy followed leader 3, and the other one leader 4."""
    damaged = write(tmp_path / "a", batches(end=15), high_watermark=36)
    rest = [ABatch(base, 3, 4) for base in range(24, 36, 3)]
    other = write(tmp_path / "b", [*batches(end=24), *rest], [(0, 0), (2, 12), (4, 24)])
    found = plan(damaged, other)
    assert (healed(found), left(found)) == ([(15, 24)], [(24, None)])
    assert "replication-offset-checkpoint the log ended at 36 or later" in found.left[0].why


def test_an_epoch_that_began_elsewhere_proves_nothing(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", batches(end=12), [(0, 0), (2, 12)], high_watermark=24)
    other = write(tmp_path / "b", [*batches(end=9), *batches(start=12, end=24)], [(0, 0), (2, 9)])
    found = plan(damaged, other)
    assert (healed(found), left(found)) == ([], [(12, None)])


def test_nothing_is_taken_of_a_leader_that_was_followed_by_another_here(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", batches(end=15), [(0, 0), (2, 12), (3, 18)], high_watermark=24)
    other = write(tmp_path / "b", batches(end=24), [(0, 0), (2, 12)])
    found = plan(damaged, other)
    assert (healed(found), left(found)) == ([(15, 18)], [(18, None)])


def test_nothing_is_taken_where_an_epoch_began_elsewhere_within_the_gap(tmp_path: Path) -> None:
    """By its checkpoint, though both go on alike."""
    damaged = write(tmp_path / "a", batches(), [(0, 0), (2, 15), (3, 24)])
    for base in (9, 12, 15):
        spoil(damaged, base)
    found = plan(damaged, write(tmp_path / "b", batches()))
    assert (healed(found), left(found)) == ([], [(9, 18)])
    assert "other leader epochs there: 2 began at 15, and there at 12" in found.left[0].why


def test_the_first_batch_of_a_log_is_compared_too(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", batches())
    other = write(tmp_path / "b", [ABatch(0, 3, 0, "x"), *batches(start=3)])
    spoil(damaged, 3)
    found = plan(damaged, other)
    assert (healed(found), left(found)[0]) == ([], (3, 6))
    assert "another batch before it, offsets 0 to 2" in found.left[0].why


@pytest.mark.parametrize("cut", ["a", "b"])
def test_the_start_of_the_first_epoch_may_have_moved_with_the_beginning_of_a_log(cut: str, tmp_path: Path) -> None:
    beginnings = {name: 3 if name == cut else 0 for name in "ab"}
    damaged, other = (
        write(tmp_path / name, batches(start=start, end=end), [(0, start)], high_watermark=12)
        for (name, start), end in zip(beginnings.items(), (9, 12), strict=True)
    )
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(9, 12)], ())


def test_but_not_where_no_batch_of_it_is_shared(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", batches(start=3, end=12), [(0, 0)], high_watermark=12)
    for log in damaged.glob("*.log"):
        log.write_bytes(b"")
    other = write(tmp_path / "b", batches(start=3, end=12), [(0, 3)])
    found = plan(damaged, other)
    assert (healed(found), left(found)) == ([], [(0, None)])


def test_a_copy_that_lacks_the_same_batches_has_nothing(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches()), write(tmp_path / "b", batches())
    spoil(damaged, 15)
    spoil(other, 15)
    found = plan(damaged, other)
    assert (healed(found), left(found)) == ([], [(15, 18)])
    assert found.left[0].why == "b/t-0 has no sound batch of these offsets"


def test_what_a_leader_wrote_beyond_the_known_end_is_not_added(tmp_path: Path) -> None:
    """The damaged copy was only behind."""
    damaged, other = write(tmp_path / "a", batches(end=30), high_watermark=27), write(tmp_path / "b", batches())
    found = plan(damaged, other)
    assert (found.healed, found.left) == ((), ())


def test_a_torn_batch_at_the_end_is_made_whole(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches(end=33)), write(tmp_path / "b", batches())
    log = max(damaged.glob("*.log"))
    log.write_bytes(log.read_bytes() + ABatch(33, 3, 3).encoded()[:40])
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(33, 36)], ())


def test_a_torn_batch_that_no_copy_has_is_left(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches(end=33)), write(tmp_path / "b", batches(end=33))
    log = max(damaged.glob("*.log"))
    log.write_bytes(log.read_bytes() + ABatch(33, 3, 3).encoded()[:40])
    found = plan(damaged, other)
    assert (healed(found), left(found)) == ([], [(33, None)])


def test_without_its_leader_epochs_the_end_is_proven_by_headers_that_are_left(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches(), high_watermark=36), write(tmp_path / "b", batches())
    (damaged / "leader-epoch-checkpoint").unlink()
    for base in (24, 27, 30, 33):
        spoil(damaged, base)
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(24, 36)], ())


def test_without_its_leader_epochs_and_headers_the_end_is_left(tmp_path: Path) -> None:
    """Another leader may have begun where the other copy still followed the old one."""
    damaged = write(tmp_path / "a", batches(end=15), high_watermark=24)
    other = write(tmp_path / "b", batches(end=24), EPOCHS[:2])
    (damaged / "leader-epoch-checkpoint").unlink()
    found = plan(damaged, other)
    assert (healed(found), left(found)) == ([], [(15, None)])


def test_the_beginning_is_proven_by_what_follows(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches()), write(tmp_path / "b", batches(), segment_batches=6)
    (damaged / f"{0:020d}.log").unlink()
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(0, 12)], ())


def test_what_retention_took_from_the_other_copy_stays_missing(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", batches())
    other = write(tmp_path / "b", batches(start=6), [(0, 6), *EPOCHS[1:]])
    (damaged / f"{0:020d}.log").unlink()
    found = plan(damaged, other)
    assert (healed(found), left(found)) == ([(6, 12)], [(0, 6)])


def test_several_copies_heal_what_none_of_them_has_alone(tmp_path: Path) -> None:
    damaged, one, two = (write(tmp_path / name, batches()) for name in "abc")
    for base in (12, 15, 18):
        spoil(damaged, base)
    for copy, base in ((one, 12), (one, 15), (two, 18)):
        spoil(copy, base)
    found = plan(damaged, one, two)
    assert (healed(found), found.left) == ([(12, 21)], ())
    assert found.healed[0].sources == ("c/t-0", "b/t-0")
    assert healed(plan(damaged, one)) == [(18, 21)]
    assert left(plan(damaged, one)) == [(12, 18)]
    assert healed(plan(damaged, two)) == [(12, 18)]


def test_copies_that_contradict_each_other_prove_nothing(tmp_path: Path) -> None:
    damaged, one = (write(tmp_path / name, batches()) for name in "ab")
    spoil(damaged, 15)
    two = write(tmp_path / "c", [*batches(end=15), ABatch(15, 3, 2, "x"), *batches(start=18)])
    found = plan(damaged, one, two)
    assert (healed(found), left(found)[0]) == ([], (15, 18))
    assert "b/t-0 and c/t-0 have different batches at offset 15" in found.left[0].why


def test_two_sound_batches_of_one_offset_are_told(tmp_path: Path) -> None:
    damaged = write(tmp_path / "a", [*batches(end=15), ABatch(15, 3, 2, "x"), *batches(start=18)])
    found = plan(damaged, write(tmp_path / "b", batches()))
    assert (healed(found), left(found)) == ([], [(15, 18)])
    assert found.left[0].is_readable
    assert not found.report().committed_left


def test_a_length_that_is_wrong_hides_no_batch_that_is_sound(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches()), write(tmp_path / "b", batches())
    log = damaged / f"{12:020d}.log"
    data = bytearray(log.read_bytes())
    data[8:12] = (len(data) - 30).to_bytes(4, "big")
    log.write_bytes(data)
    for base in (15, 18):
        spoil(other, base)
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(12, 15)], ())


def test_a_segment_ends_where_batches_fill_its_file(tmp_path: Path) -> None:
    """The one behind it is gone with its indexes."""
    damaged, other = write(tmp_path / "a", batches()), write(tmp_path / "b", batches(), segment_batches=99)
    for base in (6, 9):
        spoil(damaged, base)
    (damaged / f"{12:020d}.log").unlink()
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(6, 24)], ())
    assert sorted(found.layout.changed()) == [0, 12]


def test_an_epoch_that_was_changed_in_a_header_is_healed(tmp_path: Path) -> None:
    """It is not part of what the checksum is of."""
    damaged, other = write(tmp_path / "a", batches()), write(tmp_path / "b", batches())
    log = damaged / f"{12:020d}.log"
    data = bytearray(log.read_bytes())
    data[len(data) // 2 + 15] ^= 4
    log.write_bytes(data)
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(18, 21)], ())


def test_so_is_the_epoch_of_the_last_batch_though_it_only_rises(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches()), write(tmp_path / "b", batches())
    log = damaged / f"{24:020d}.log"
    data = bytearray(log.read_bytes())
    data[len(data) * 3 // 4 + 15] ^= 4
    log.write_bytes(data)
    found = plan(damaged, other)
    assert (healed(found), found.left) == ([(33, 36)], ())


def test_the_last_segment_begins_where_a_snapshot_says(tmp_path: Path) -> None:
    damaged, other = write(tmp_path / "a", batches(), high_watermark=36), write(tmp_path / "b", batches())
    (damaged / f"{24:020d}.log").unlink()
    without = plan(damaged, other)
    assert sorted(without.layout.changed()) == [12]
    (damaged / f"{24:020d}.snapshot").touch()
    assert sorted(plan(damaged, other).layout.changed()) == [24]


class TestACompactedLog:
    """Each broker compacts its copy when it comes to it: what another one still has may be cleaned away here."""

    HELD: Final = [each for each in batches() if each.base_offset not in {3, 18}]

    @staticmethod
    def clean(partition: Path) -> None:
        (partition.parent / "cleaner-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, 36)]))

    def test_a_batch_is_healed_where_both_were_compacted_alike(self, tmp_path: Path) -> None:
        damaged, other = write(tmp_path / "a", self.HELD), write(tmp_path / "b", self.HELD)
        spoil(damaged, 15)
        for each in (damaged, other):
            self.clean(each)
        found = plan(damaged, other)
        assert (healed(found), found.left) == ([(15, 18)], ())

    @pytest.mark.parametrize("cleaned", [True, False])
    def test_nothing_is_taken_where_the_other_still_has_more(self, tmp_path: Path, *, cleaned: bool) -> None:
        damaged, other = write(tmp_path / "a", self.HELD), write(tmp_path / "b", batches())
        spoil(damaged, 15)
        self.clean(damaged)
        if cleaned:
            self.clean(other)
        found = plan(damaged, other)
        assert (healed(found), left(found)) == ([], [(15, 21)])
        assert "compacted differently" in found.left[0].why

    def test_one_copy_that_was_compacted_shows_it_of_the_topic(self, tmp_path: Path) -> None:
        damaged, other = write(tmp_path / "a", self.HELD), write(tmp_path / "b", batches())
        cleaned = write(tmp_path / "c", self.HELD)
        spoil(damaged, 15)
        self.clean(cleaned)
        found = plan(damaged, other, cleaned)
        assert (healed(found), found.left) == ([(15, 18)], ())
        assert found.healed[0].sources == ("c/t-0",)

    def test_nothing_is_taken_where_nothing_is_left_to_recognize(self, tmp_path: Path) -> None:
        damaged, other = write(tmp_path / "a", self.HELD), write(tmp_path / "b", self.HELD)
        for each in (damaged, other):
            self.clean(each)
        log = max(damaged.glob("*.log"))
        data = log.read_bytes()
        size = len(ABatch(0, 3, 0).encoded())
        log.write_bytes(bytes(size) + data[size:])
        found = plan(damaged, other)
        assert (healed(found), len(found.left)) == ([], 1)

    def test_a_missing_segment_is_left(self, tmp_path: Path) -> None:
        """What is missing may have been cleaned away since."""
        damaged, other = write(tmp_path / "a", self.HELD), write(tmp_path / "b", self.HELD)
        for each in (damaged, other):
            self.clean(each)
        sorted(damaged.glob("*.log"))[1].unlink()
        assert healed(plan(damaged, other)) == []
