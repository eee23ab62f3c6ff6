"""A process that appends until it is killed, and says what is acknowledged: started by test_kill.py.

Each batch of records holds its own number. A line is printed, unbuffered, once an append or a flush has returned.
"""

import sys
import time
from pathlib import Path

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition

PARTITION = TopicPartition("killed", 0)
CONFIG = LogConfig(segment_bytes=20_000, index_interval_bytes=500)


def tell(kind: str, number: int) -> None:
    """Acknowledge all records below `number`."""
    sys.stdout.write(f"{kind} {number}\n")
    sys.stdout.flush()


def main(root: Path) -> None:
    directory = LogDirectory.open(root, CONFIG)
    log = directory.log(PARTITION) if PARTITION in directory.partitions else directory.create(PARTITION)
    number = log.log_end_offset
    tell("ready", number)
    while True:
        epoch = number // 500
        records = [Record(0, time.time_ns() // 1_000_000, None, b"%d" % (number + i)) for i in range(1 + number % 5)]
        log.append(records, leader_epoch=epoch)
        number += len(records)
        tell("appended", number)
        if number % 7 == 0:
            log.flush()
            tell("flushed", number)
        if number % 11 == 0:
            directory.checkpoint()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
