"""A process with durable appends and a cursor is killed, again and again; a ledger outside of it knows what it told."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from logstore.log.cursors.committed_position import CommittedPosition
from logstore.log.log import Log
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from tests.campaign import Campaign
from tests.data.replicas import PROJECT
from tests.logstore.log.cursors import cursor_process

KILLS = Campaign("kill -9 of a process with a cursor", full=1_000, share=5)
KILLS_OF_A_LOG = 25
"""After so many another log begins: all of it is read each time."""


def told_until_killed(directory: Path, rng: random.Random) -> list[tuple[str, int]]:
    """Start the process, kill it in the middle of its work, and return what it told."""
    with subprocess.Popen(
        [sys.executable, cursor_process.__file__, directory],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    ) as process:
        try:
            assert process.stdout is not None
            told = [process.stdout.readline()]
            time.sleep(rng.uniform(0, 0.3))
        finally:
            process.send_signal(signal.SIGKILL)
        told += process.stdout.readlines()
    # The last line may have been cut off in the middle: it acknowledges nothing.
    lines = [line.decode().split() for line in told if line.endswith(b"\n")]
    assert lines, "the process did not start"
    return [(kind, int(number)) for kind, number in lines]


def test_nothing_acknowledged_is_lost_and_nothing_committed_is_read_again(tmp_path: Path) -> None:
    rng = random.Random(KILLS.seed)
    durable = committed = commits = 0
    for number in range(KILLS.count):
        directory = tmp_path / f"t-{number // KILLS_OF_A_LOG}"
        if number % KILLS_OF_A_LOG == 0:
            durable = committed = 0
        told = told_until_killed(directory, rng)
        next_read: int | None = None
        for kind, each in told:
            match kind:
                case "durable":
                    durable = max(durable, each)
                case "committed":
                    assert each >= committed, "the cursor went back behind what it had committed"
                    committed, commits = each, commits + 1
                    next_read = each if next_read is None else next_read
                case "read":
                    assert each == next_read, "a record is skipped, or was read again"
                    next_read = each + 1
        kept = CommittedPosition.read(directory / f"{cursor_process.NAME}.cursor")
        with Log.open(directory, cursor_process.CONFIG) as log:
            assert log.log_end_offset >= durable
            assert [int(record.value or b"") for record in log.records()] == list(range(log.log_end_offset))
            cursor = log.cursor(cursor_process.NAME)
            assert committed <= cursor.position <= log.log_end_offset
            assert kept is None or kept.offset == cursor.position
            assert [record.offset for record in cursor] == list(range(cursor.committed or 0, log.log_end_offset))
        committed = 0 if kept is None else kept.offset
        assert [each for each in verify(open_offline(directory)) if each.severity.needs_attention] == []
        (directory / ".kafka_cleanshutdown").unlink()
    KILLS.report(KILLS.count, f"{commits:,} commits")
