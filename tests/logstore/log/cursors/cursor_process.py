"""A process that appends and reads by a cursor until it is killed, and says what is acknowledged: see test_cursor_kill.

A line is printed, unbuffered: `durable N` once all records below N are on stable storage, `committed N` once the cursor
has committed N, `read N` once the record N was read.
"""

import sys
from collections import deque
from concurrent.futures import Future
from pathlib import Path

from logstore.append.append_info import AppendInfo
from logstore.log.log import Log
from logstore.log_config import LogConfig

CONFIG = LogConfig(segment_bytes=20_000, index_interval_bytes=500, retention_ms=-1)
NAME = "reader"


def tell(kind: str, number: int) -> None:
    """Acknowledge."""
    sys.stdout.write(f"{kind} {number}\n")
    sys.stdout.flush()


def main(directory: Path) -> None:
    log = Log.open(directory, CONFIG)
    cursor = log.cursor(NAME)
    tell("ready", log.log_end_offset)
    tell("committed", cursor.position)
    waiting: deque[Future[AppendInfo]] = deque()
    while True:
        end = log.log_end_offset
        waiting.append(log.append([b"%d" % (end + each) for each in range(1 + end % 4)], durable=True))
        while waiting and (waiting[0].done() or len(waiting) > 8):
            tell("durable", waiting.popleft().result().last_offset + 1)
        if end % 3 == 0:
            for record in cursor.records(cursor.position + 5):
                tell("read", int(record.value or b""))
            tell("committed", cursor.commit())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
