"""A broker's directory of many small partitions and a larger one, made once and kept."""

import shutil
from pathlib import Path

from logstore import LogConfig, Record, TopicPartition
from logstore.directory.log_directory import LogDirectory
from tests.made_once import only_maker

BUILD = Path(__file__).parents[4] / "build/serving"
TOPIC = "many"
LARGE = TopicPartition("large", 0)
LARGE_BYTES = 8 << 20
EPOCHS = 2
RECORDS = 10
"""Of each epoch, in a batch, in each small partition."""
END = EPOCHS * RECORDS


def many_partitions(count: int) -> Path:
    """Return a directory with so many partitions of `many`, each a batch of epoch 0 and one of 1; and with `large-0`.

    The batches of epoch E have E as their time.
    """
    directory = BUILD / f"partitions-{count}"
    with only_maker(directory):
        if not directory.exists():
            partial = directory.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            _make(partial, count)
            partial.rename(directory)
    return directory


def _make(root: Path, count: int) -> None:
    with LogDirectory.open(root, LogConfig(retention_ms=-1), replicated=True) as directory:
        for number in range(count):
            log = directory.create(TopicPartition(TOPIC, number))
            for epoch in range(EPOCHS):
                records = [Record.of(b"%d of %d" % (place, number), timestamp=epoch) for place in range(RECORDS)]
                log.append(records, leader_epoch=epoch)
            log.update_high_watermark(END)
        large = directory.create(LARGE)
        values = [Record.of(bytes(1 << 10), timestamp=0)] * 512
        while large.size < LARGE_BYTES:
            large.append(values, leader_epoch=0)
        large.update_high_watermark(large.log_end_offset)
