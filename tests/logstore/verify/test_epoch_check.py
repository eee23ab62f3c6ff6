"""When the leader-epoch checkpoint and the batches contradict each other, and when they only seem to."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT, format_checkpoint
from logstore.batch.columns import BatchColumns
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Severity, verify_partition
from logstore.verify.epochs import compare_epochs
from tests.logstore.verify.logs import COMPACTED, findings, kinds, stop_cleanly, thinned
from tests.replication.partitions import ABatch, write_partition

BATCHES = [ABatch(0, 10, 0), ABatch(10, 10, 0), ABatch(20, 10, 1), ABatch(30, 10, 1), ABatch(40, 10, 2)]
EPOCHS = [(0, 0), (1, 20), (2, 40)]


def write(directory: Path, epochs: Sequence[tuple[int, int]], batches: Sequence[ABatch] = BATCHES) -> Path:
    """Segments begin at each second batch."""
    return write_partition(directory, batches, epochs, segment_batches=2)


def empty_checkpoint(directory: Path) -> None:
    (directory / LEADER_EPOCH_CHECKPOINT).write_bytes(b"")


class TestTheFile:
    def test_it_agrees(self, tmp_path: Path) -> None:
        assert kinds(write(tmp_path, EPOCHS)) == []

    def test_empty_is_how_kafka_creates_it_before_the_first_write(self, tmp_path: Path) -> None:
        directory = write(tmp_path, [], [])
        empty_checkpoint(directory)
        assert kinds(directory) == []

    def test_empty_is_normal_where_no_batch_carries_an_epoch(self, tmp_path: Path) -> None:
        directory = write(tmp_path, [], [ABatch(0, 10, -1)])
        empty_checkpoint(directory)
        assert kinds(directory) == []

    def test_empty_although_batches_carry_epochs_is_damage(self, tmp_path: Path) -> None:
        directory = write(tmp_path, EPOCHS)
        empty_checkpoint(directory)
        assert kinds(directory) == ["epoch-checkpoint-empty"]

    def test_missing_although_batches_carry_epochs_is_damage(self, tmp_path: Path) -> None:
        directory = write(tmp_path, EPOCHS)
        (directory / LEADER_EPOCH_CHECKPOINT).unlink()
        assert kinds(directory) == ["epoch-checkpoint-missing"]

    def test_unparsable_is_damage(self, tmp_path: Path) -> None:
        directory = write(tmp_path, EPOCHS)
        (directory / LEADER_EPOCH_CHECKPOINT).write_bytes(b"0\n1\nzero zero\n")
        assert kinds(directory) == ["epoch-checkpoint-unparsable"]

    @pytest.mark.parametrize("entries", [[(0, 0), (2, 40), (1, 20)], [(0, 0), (1, 20), (1, 20), (2, 40)]])
    def test_entries_rise(self, tmp_path: Path, entries: list[tuple[int, int]]) -> None:
        assert kinds(write(tmp_path, entries)) == ["epoch-checkpoint-not-monotonic"]


class TestTheBatches:
    def test_an_epoch_that_does_not_fit_between_its_neighbours_is_damage(self, tmp_path: Path) -> None:
        altered = [*BATCHES[:3], ABatch(30, 10, 7), ABatch(40, 10, 1), ABatch(50, 10, 1)]
        found = findings(write(tmp_path, [(0, 0), (1, 20)], altered))
        assert [(each.kind, each.offset, each.position) for each in found] == [
            ("epoch-not-monotonic", 30, len(BATCHES[2].encoded()))
        ]
        assert "30..39" in found[0].message

    def test_an_epoch_without_an_entry_is_damage(self, tmp_path: Path) -> None:
        found = findings(write(tmp_path, [(0, 0), (2, 40)]))
        assert [(each.kind, each.offset) for each in found] == [("epoch-entry-missing", 20)]

    def test_an_epoch_below_the_log_start_needs_no_entry(self, tmp_path: Path) -> None:
        directory = write(tmp_path, [(1, 25), (2, 40)])
        (tmp_path / "log-start-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, 25)]))
        stop_cleanly(tmp_path)
        assert kinds(directory) == []


class TestAHole:
    """Where batches are missing, epochs may have begun: the hole is reported, and nothing else."""

    @pytest.mark.parametrize("start", [12, 15, 19])
    def test_an_epoch_may_have_begun_in_it(self, tmp_path: Path, start: int) -> None:
        batches = [ABatch(0, 10, 0), ABatch(20, 10, 1)]
        assert kinds(write(tmp_path, [(0, 0), (1, start)], batches)) == ["offset-gap"]

    def test_so_may_one_all_of_whose_batches_are_missing(self, tmp_path: Path) -> None:
        batches = [ABatch(0, 10, 0), ABatch(30, 10, 2)]
        assert kinds(write(tmp_path, [(0, 0), (1, 15), (2, 25)], batches)) == ["offset-gap"]

    @pytest.mark.parametrize("start", [5, 21])
    def test_none_that_the_batches_beside_it_contradict(self, tmp_path: Path, start: int) -> None:
        batches = [ABatch(0, 10, 0), ABatch(20, 10, 1)]
        assert "epoch-start-differs" in kinds(write(tmp_path, [(0, 0), (1, start)], batches))


class TestTheBeginning:
    """Kafka cuts the history first and records the log's new start up to a minute later."""

    @pytest.mark.parametrize(
        ("entries", "why"),
        [
            ([(1, 20), (2, 40)], "retention deletes up to a segment's beginning"),
            ([(1, 33), (2, 40)], "records were deleted up to inside epoch 1"),
            ([(2, 41)], "records were deleted up to inside epoch 2"),
            ([(2, 50)], "all records were deleted"),
        ],
    )
    def test_a_history_cut_before_the_log_start_was_recorded(
        self, tmp_path: Path, entries: list[tuple[int, int]], why: str
    ) -> None:
        directory = write(tmp_path, entries)
        found = findings(directory)
        assert {each.kind for each in found} == {"epochs-ahead-of-log-start"}, why
        assert {each.severity for each in found} == {Severity.INFO}
        stop_cleanly(tmp_path)
        assert set(kinds(directory)) - {"epoch-start-differs"} == {"epoch-entry-missing"}

    def test_a_history_that_begins_exactly_where_an_epoch_does_has_lost_an_entry(self, tmp_path: Path) -> None:
        batches = [ABatch(0, 10, 0), ABatch(10, 10, 1), ABatch(20, 10, 1)]
        assert kinds(write(tmp_path, [(1, 10)], batches)) == ["epoch-entry-missing"]

    def test_only_what_lies_before_the_cut_is_excused(self, tmp_path: Path) -> None:
        directory = write(tmp_path, [(1, 33)])
        assert kinds(directory) == ["epochs-ahead-of-log-start", "epoch-entry-missing"]

    @pytest.mark.parametrize("older", [[(3, 70)], [(1, 70), (2, 80), (3, 90)], [(1, 70), (2, 80), (3, 100)]])
    def test_a_history_older_than_the_log_tells_that_first_segments_are_gone(
        self, tmp_path: Path, older: list[tuple[int, int]]
    ) -> None:
        directory = write(tmp_path, [*older, (5, 110)], [ABatch(100, 10, 3), ABatch(110, 10, 5)])
        missing = [("first-segment-missing", Severity.ERROR, 70)]
        assert [(each.kind, each.severity, each.offset) for each in findings(directory)] == missing
        stop_cleanly(tmp_path)
        assert [(each.kind, each.severity, each.offset) for each in findings(directory)] == missing
        assert [each.kind for each in compare_epochs(PartitionDirectory.open(directory)).findings] == [
            "first-segment-missing"
        ]

    def test_segments_that_are_being_deleted_are_not_missing(self, tmp_path: Path) -> None:
        directory = write(tmp_path, [(3, 70)], [ABatch(100, 10, 3)])
        (directory / f"{70:020d}.log.deleted").touch()
        assert kinds(directory) == ["left-over-deleted"]

    def test_with_remote_storage_a_log_starts_below_its_first_segment(self, tmp_path: Path) -> None:
        directory = write(tmp_path, [(3, 70)], [ABatch(100, 10, 3)])
        stop_cleanly(tmp_path)
        (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 70\n")
        untold = [("beginning-not-here", Severity.INFO, 70)]
        assert [(each.kind, each.severity, each.offset) for each in findings(directory)] == untold

    def test_a_segment_under_a_wrong_name_is_not_missing(self, tmp_path: Path) -> None:
        directory = write(tmp_path, EPOCHS)
        stop_cleanly(tmp_path)
        (directory / f"{0:020d}.log").rename(directory / f"{5:020d}.log")
        assert kinds(directory) == ["batch-below-segment"]

    def test_a_later_entry_may_not_begin_before_its_first_batch(self, tmp_path: Path) -> None:
        assert kinds(write(tmp_path, [(0, 0), (1, 15), (2, 40)])) == ["epoch-start-differs"]

    def test_a_later_entry_may_not_begin_after_its_first_batch(self, tmp_path: Path) -> None:
        assert kinds(write(tmp_path, [(0, 0), (1, 25), (2, 40)])) == ["epoch-start-differs"]


class TestTheEnd:
    def test_a_leader_that_has_not_written_yet_begins_at_the_end(self, tmp_path: Path) -> None:
        assert kinds(write(tmp_path, [*EPOCHS, (3, 50)])) == []

    def test_beyond_the_end_is_damage_after_a_clean_stop(self, tmp_path: Path) -> None:
        directory = write(tmp_path, [*EPOCHS, (3, 51)])
        stop_cleanly(tmp_path)
        assert [(each.kind, each.severity, each.offset) for each in findings(directory)] == [
            ("epoch-beyond-log-end", Severity.ERROR, 51)
        ]

    def test_beyond_the_end_is_repaired_by_kafka_after_a_kill(self, tmp_path: Path) -> None:
        assert [(each.kind, each.severity) for each in findings(write(tmp_path, [*EPOCHS, (3, 51)]))] == [
            ("epoch-beyond-log-end", Severity.WARNING)
        ]

    def test_a_log_that_grew_while_it_was_read_ends_nowhere_yet(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        directory = write(tmp_path, EPOCHS)
        log = max(directory.glob("*.log"))
        real = LogFile.scan

        def append_and_scan(mapped: LogFile, position: int = 0) -> Iterator[BatchColumns]:
            """The broker appends before each read of what was mapped, and was elected in between."""
            with log.open("ab") as file:
                file.write(ABatch(log.stat().st_size, 10, 2).encoded())
            (directory / LEADER_EPOCH_CHECKPOINT).write_bytes(format_checkpoint([*EPOCHS, (3, 100_000)]))
            return real(mapped, position)

        monkeypatch.setattr(LogFile, "scan", append_and_scan)
        found = verify_partition(PartitionDirectory.open(directory))
        assert "epoch-beyond-log-end" not in [each.kind for each in found]


class TestCompaction:
    """The cleaner removes whole batches: an epoch's first ones, or all of them."""

    WITHOUT_BATCHES = ((0, 0), (1, 20), (2, 30), (3, 40))
    FIRST_BATCH_GONE = ((0, 0), (1, 15), (2, 40))

    def test_epochs_may_lack_batches_where_the_topic_is_compacted(self, tmp_path: Path) -> None:
        batches = [*BATCHES[:3], ABatch(40, 10, 3)]
        directory = write_partition(tmp_path, batches, self.WITHOUT_BATCHES, name=COMPACTED)
        assert kinds(directory) == []

    def test_epochs_may_lack_their_first_batches_where_the_cleaner_has_been(self, tmp_path: Path) -> None:
        directory = write(tmp_path, self.FIRST_BATCH_GONE)
        assert kinds(directory) == ["epoch-start-differs"]
        (tmp_path / "cleaner-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, 40)]))
        assert kinds(directory) == []

    def test_an_entry_may_not_begin_after_its_first_batch_even_so(self, tmp_path: Path) -> None:
        directory = write_partition(tmp_path, BATCHES, [(0, 0), (1, 25), (2, 40)], name=COMPACTED)
        assert kinds(directory) == ["epoch-start-differs"]

    @pytest.mark.parametrize(("crc", "expected"), [(None, []), (0, ["corrupt-batch", "epoch-start-differs"])])
    def test_holes_tell_of_the_cleaner_where_the_checksum_is_valid(
        self, tmp_path: Path, crc: int | None, expected: list[str]
    ) -> None:
        directory = write(tmp_path, self.FIRST_BATCH_GONE)
        with max(directory.glob("*.log")).open("ab") as file:
            file.write(thinned(50, crc=crc, leader_epoch=2))
        assert kinds(directory) == expected

    def test_the_comparison_of_epochs_knows_it_too(self, tmp_path: Path) -> None:
        directory = write_partition(tmp_path, BATCHES, self.FIRST_BATCH_GONE, name=COMPACTED)
        assert compare_epochs(PartitionDirectory.open(directory)).findings == ()
