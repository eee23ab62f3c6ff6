"""Which leader epochs the batches of a log are taken to carry."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from logstore.offline.epoch_runs import EpochRun, EpochRuns
from logstore.offline.log_file import LogFile
from tests.logstore.batches import simple_batch


def collected(directory: Path, *files: list[int]) -> EpochRuns:
    """The runs of files that have one batch of one record for each epoch."""
    runs, offset = EpochRuns(), 0
    for number, epochs in enumerate(files):
        path = directory / f"{number}.log"
        path.write_bytes(b"".join(simple_batch(offset + n, leader_epoch=epoch) for n, epoch in enumerate(epochs)))
        offset += len(epochs)
        with LogFile.open(path) as log:
            for columns in log.scan():
                runs.add(columns, path.name)
    return runs


def of_weights(*epochs_and_batches: tuple[int, int]) -> EpochRuns:
    runs, offset = EpochRuns(), 0
    for epoch, batches in epochs_and_batches:
        runs.runs.append(EpochRun(epoch, offset, offset + batches - 1, batches, "0.log", offset))
        offset += batches
    return runs


def split(runs: EpochRuns) -> tuple[list[int], list[int]]:
    rising, odd = runs.split()
    return [run.epoch for run in rising], [run.epoch for run in odd]


def test_consecutive_batches_of_one_epoch_are_one_run_over_files_too(tmp_path: Path) -> None:
    first, second = collected(tmp_path, [0, 0, 3], [3, 3]).runs
    assert first == EpochRun(0, 0, 1, 2, "0.log", 0)
    assert (second.epoch, second.first_offset, second.last_offset, second.batches) == (3, 2, 4, 3)
    assert (second.file, second.position) == ("0.log", 2 * len(simple_batch()))


def test_batches_without_an_epoch_are_no_run(tmp_path: Path) -> None:
    assert [run.epoch for run in collected(tmp_path, [-1, -1, 2, -1]).known()] == [2]


def test_a_batch_between_two_runs_of_one_epoch_is_odd() -> None:
    for odd in (9, 1):
        runs = of_weights((4, 10), (odd, 1), (4, 10))
        assert split(runs) == ([4], [odd])
        rising, _ = runs.split()
        assert (rising[0].first_offset, rising[0].last_offset, rising[0].batches) == (0, 20, 20)


def test_of_two_runs_that_contradict_each_other_the_one_with_more_batches_is_believed() -> None:
    assert split(of_weights((1, 10), (8, 2), (2, 3))) == ([1, 2], [8])
    assert split(of_weights((1, 10), (8, 3), (2, 2))) == ([1, 8], [2])


def test_of_equals_the_earlier_is_believed() -> None:
    assert split(of_weights((8, 2), (2, 2))) == ([8], [2])


def test_runs_that_agree_with_each_other_count_together() -> None:
    assert split(of_weights((0, 9), (3, 9), (4, 5), (1, 8))) == ([0, 3, 4], [1])
    assert split(of_weights((0, 9), (3, 2), (4, 5), (1, 8))) == ([0, 1], [4, 3])


def test_a_run_whose_rivals_were_outweighed_joins_its_own_epoch() -> None:
    assert split(of_weights((1, 2), (5, 1), (6, 1), (1, 3))) == ([1], [6, 5])


@given(st.lists(st.tuples(st.integers(-1, 6), st.integers(1, 9)), max_size=12))
def test_every_batch_with_an_epoch_is_in_a_rising_run_or_an_odd_one(weights: list[tuple[int, int]]) -> None:
    rising, odd = of_weights(*weights).split()
    epochs = [run.epoch for run in rising]
    assert epochs == sorted(set(epochs))
    assert sum(run.batches for run in rising + odd) == sum(batches for epoch, batches in weights if epoch >= 0)
