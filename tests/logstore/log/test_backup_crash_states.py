"""At whatever step of a backup the power fails: no earlier backup is lost, and what looks whole is."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.log.log import Log
from tests.campaign import Campaign
from tests.crash_states import State, crash_states, write_state
from tests.logstore.log.test_backup import CONFIG, state
from tests.recording_disk import RecordingDisk

STATES = Campaign("crash states of backups", full=500, share=30)
STRIDE = 11
"""A share looks at one state of so many."""
SETTLED_NS = 10**17
"""A time long ago: the files have not changed since."""


def grow(log: Log) -> None:
    log.append([b"more"] * 20, leader_epoch=7)


def cut(log: Log) -> None:
    log.truncate_to(log.log_end_offset - 5)
    log.append([b"another history"])


def delete(log: Log) -> None:
    log.update_high_watermark(log.log_end_offset)
    log.delete_records(log.segments[-1].base_offset)
    log.delete_old_segments()


Held = dict[str, tuple[object, ...]]
ALLOWED = {
    "making the first": ("first",),
    "made the first": ("first",),
    "making the second": ("first", "second"),
    "made the second": ("second",),
}


def live(root: Path, change: Callable[[Log], None]) -> tuple[RecordingDisk, Held]:
    """Back a log up, change it, and do so again; return the steps, and what the backups hold."""
    disk, held = RecordingDisk(), Held()
    root.mkdir()
    with Log.open(root / "t-0", CONFIG, filesystem=disk) as log:
        for number in range(12):
            log.append([b"value %d" % number] * 3, leader_epoch=number // 5)
        for name in ("first", "second"):
            log.flush()
            for segment in log.segments:
                os.utime(segment.path, ns=(SETTLED_NS, SETTLED_NS))
            held[name] = state(log)
            disk.tell(f"making the {name}")
            log.backup(root / "backups" / "t-0")
            disk.tell(f"made the {name}")
            disk.tell(None)
            change(log)
        log.abandon()
    return disk, held


def put(left: State, root: Path) -> None:
    """Make a disk as the crash has left it. All segments have one time: what is as long as a copy is taken for it."""
    shutil.rmtree(root)
    root.mkdir()
    write_state(left, root)
    for path in root.glob("**/*.log"):
        os.utime(path, ns=(SETTLED_NS, SETTLED_NS))


def opened(backup: Path) -> tuple[object, ...]:
    """What a backup holds; it needs no recovery."""
    with Log.open(backup, CONFIG) as log:
        assert (log.report.recovered_segments, log.report.dropped, log.report.rebuilt_indexes) == (0, [], [])
        held = state(log)
        log.abandon()
    return held


def check(root: Path, told: str, held: Held) -> None:
    """What is there under the backup's name is whole, and one that was made is not lost; the next call goes on."""
    backup = root / "backups" / "t-0"
    if backup.exists():
        shutil.copytree(backup, root / "looked-at" / "t-0")
        assert opened(root / "looked-at" / "t-0") in [held[name] for name in ALLOWED[told]]
    elif told != "making the first":  # between the two renames both are whole
        assert {path.name for path in backup.parent.iterdir()} == {"t-0.partial", "t-0.replaced"}
    with Log.open(root / "t-0", CONFIG) as log:
        log.backup(backup)
        now = state(log)
    assert opened(backup) == now
    assert [path.name for path in backup.parent.iterdir()] == ["t-0"]


@pytest.mark.parametrize("change", [grow, cut, delete])
def test_a_power_loss_leaves_the_earlier_backup_or_the_new_one(change: Callable[[Log], None], memory_dir: Path) -> None:
    root = memory_dir / change.__name__
    disk, held = live(root, change)
    stride = 1 if STATES.count == STATES.full else STRIDE
    number = checked = 0
    for told, left in crash_states(disk.steps, root):
        number += isinstance(told, str)
        if isinstance(told, str) and (number + STATES.seed) % stride == 0:
            put(left, root)
            try:
                check(root, told, held)
            except BaseException as error:
                error.add_note(f"state {number}, {told}, {sorted(map(str, left))}")
                raise
            checked += 1
    assert checked >= STATES.count // 3
    STATES.report(checked, change.__name__)
