"""Whatever a power loss leaves: a cursor is where it was committed last, or at a later commit, and in the log."""

from pathlib import Path

from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.campaign import Campaign
from tests.crash_states import crash_states, write_state
from tests.recording_disk import RecordingDisk

STATES = Campaign("crash states of a cursor", full=250, share=60)
CONFIG = LogConfig(segment_bytes=400, retention_ms=-1, file_delete_delay_ms=0)


def live(root: Path) -> RecordingDisk:
    """Append, commit, cut and commit again."""
    disk = RecordingDisk()
    root.mkdir()
    log = Log.open(root / "t-0", CONFIG, filesystem=disk)
    cursor = log.cursor("reader")
    for epoch in range(3):
        for _ in range(4):
            log.append([b"%d" % log.log_end_offset] * 2, leader_epoch=epoch)
            cursor.seek(log.log_end_offset - 1)
            disk.tell(cursor.commit())
        log.append([b"not committed"])
        if epoch:
            cursor.seek(log.log_end_offset - 3)  # where a batch begins
            disk.tell(cursor.commit())
            log.truncate_to(cursor.position)
    log.abandon()
    return disk


def test_a_cursor_is_never_ahead_of_its_log(tmp_path: Path) -> None:
    disk = live(tmp_path / "live")
    states = list(crash_states(disk.steps, tmp_path / "live"))
    stride = max(1, len(states) // STATES.count)
    tried = 0
    for number, (told, state) in enumerate(states):
        if (number + STATES.seed) % stride or Path("t-0") not in state:
            continue
        root = tmp_path / f"state-{number}"
        root.mkdir()
        write_state(state, root)
        with Log.open(root / "t-0", CONFIG) as log:
            cursor = log.cursor("reader")
            assert cursor.position <= log.log_end_offset, (told, log)
            assert not isinstance(told, int) or cursor.committed is not None
            list(cursor)  # and all before it is there, by the epochs too
        tried += 1
    STATES.report(tried, f"of {len(states):,}")
