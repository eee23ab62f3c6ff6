"""A process that writes is killed, again and again: what it was told is appended is there when it starts again.

The operating system lives on, so that an append is safe once it has returned. What power loss would take is another
matter: only `flush` promises more (see the crash states).
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from logstore.directory.log_directory import LogDirectory
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from tests.campaign import Campaign
from tests.data.replicas import PROJECT
from tests.logstore import writing_process

KILLS = Campaign("kill -9 of a writing process", full=1_000, share=5)
KILLS_OF_A_LOG = 25
"""After so many another log begins: all of it is read each time."""


def acknowledged_until_killed(root: Path, rng: random.Random) -> dict[str, int]:
    """Start a writer, kill it in the middle of its work, and return the last of each kind that it told."""
    with subprocess.Popen(
        [sys.executable, writing_process.__file__, root],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    ) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline()]
        time.sleep(rng.uniform(0, 0.3))
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.readlines()
    # The last line may have been cut off in the middle: it acknowledges nothing.
    lines = [line.split() for line in told if line.endswith(b"\n")]
    assert lines, "the writer did not start"
    return {kind.decode(): int(number) for kind, number in lines}


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    rng = random.Random(KILLS.seed)
    written = 0
    for number in range(KILLS.count):
        root = tmp_path / f"root-{number // KILLS_OF_A_LOG}"
        acknowledged = acknowledged_until_killed(root, rng)
        with LogDirectory.open(root, writing_process.CONFIG) as directory:
            log = directory.log(writing_process.PARTITION)
            assert log.log_end_offset >= max(acknowledged.values())
            values = []
            while len(values) < log.log_end_offset:
                values += [int(record.value or b"") for record in log.read(len(values), 1 << 20).records()]
            assert values == list(range(log.log_end_offset))
            assert log.epochs.entries == [(epoch, start) for epoch, start in epochs(log.log_end_offset)]
            written += log.log_end_offset
        assert [each for each in verify(open_offline(root)) if each.severity.needs_attention] == []
        (root / ".kafka_cleanshutdown").unlink()
    KILLS.report(KILLS.count, f"{written:,} records read")


def epochs(end: int) -> list[tuple[int, int]]:
    """The epochs that the writer begins, and where: with the first batch at or beyond each 500 records."""
    found, number = [], 0
    while number < end:
        if not found or found[-1][0] < number // 500:
            found.append((number // 500, number))
        number += 1 + number % 5
    return found
