"""Records that are there twice are so by their producer where it raised its epoch, and nowhere else."""

from pathlib import Path

from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from tests.logstore.batches import batch, record
from tests.replication.cluster.node.joining.chaos.producer_epochs import resumed_at, without_resent


def test_what_was_sent_again_counts_once() -> None:
    records = dict(enumerate("abcdbcde"))
    assert without_resent(records, {4}) == list("abcde")


def test_what_is_twice_there_elsewhere_stays_so() -> None:
    records = dict(enumerate("abcdbcde"))
    assert without_resent(records, set()) == list("abcdbcde")
    assert without_resent(records, {5}) == list("abcdbcde")


def test_an_epoch_may_begin_with_something_new() -> None:
    assert without_resent(dict(enumerate("abc")), {2}) == list("abc")


def test_a_producer_goes_on_where_its_epoch_is_raised(tmp_path: Path) -> None:
    batches = [(1, 0), (2, 3), (1, 0), (1, 1), (1, 1), (2, 4)]
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(
        b"".join(
            batch(records=[record()], base_offset=offset, producer_id=producer, producer_epoch=epoch, base_sequence=0)
            for offset, (producer, epoch) in enumerate(batches)
        )
    )
    assert resumed_at(RecoveredLog.load(PartitionDirectory.open(tmp_path / "t-0"))) == {3, 5}
