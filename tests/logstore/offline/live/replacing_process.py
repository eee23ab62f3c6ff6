"""A process that appends, rolls, cuts and deletes until it is killed: started by test_read_only_log.py."""

import random
import sys
from pathlib import Path

from logstore.log.log import Log
from logstore.log_config import LogConfig


def main(directory: Path, seed: int) -> None:
    rng = random.Random(seed)
    log = Log.open(directory, LogConfig(segment_bytes=20_000, retention_ms=-1, file_delete_delay_ms=0))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    life = 0
    while True:
        for _ in range(rng.randrange(1, 200)):
            end = log.log_end_offset
            log.append([b"%d %06d" % (end + each, life) for each in range(rng.randrange(1, 4))])
        if rng.random() < 0.8:
            life += 1
            log.truncate_to(max(log.log_start_offset, log.log_end_offset - rng.randrange(300)))
        if log.log_end_offset - log.log_start_offset > 2_000:
            log.update_high_watermark(log.log_end_offset)
            log.delete_records(log.log_end_offset - 1_000)
            log.delete_old_segments()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
