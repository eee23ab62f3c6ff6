"""An index file is brought up to date so that a crash never takes along what it held before."""

from pathlib import Path

import pytest

from logstore.live_index import LiveIndex
from tests.crash_states import crash_states
from tests.recording_disk import RecordingDisk

SLOT = 8
ENTRIES = [bytes([number]) * SLOT for number in range(1, 40)]
KNOWN = 10
NAME = Path("00000000000000000000.index")


class Numbers(LiveIndex):
    """An index whose entries are numbers."""

    _slot = SLOT

    def __len__(self) -> int:
        return len(self.entries)

    def _take(self, data: bytes) -> int:
        self.entries = [data[at : at + SLOT] for at in range(0, len(data), SLOT)][:KNOWN]
        return len(self.entries)

    def _encode(self, first: int) -> bytes:
        return b"".join(self.entries[first:])


@pytest.mark.parametrize("zeros", [0, 30 * SLOT, 30 * SLOT + 3])
def test_a_crash_leaves_the_entries_that_were_there_before(tmp_path: Path, zeros: int) -> None:
    disk = RecordingDisk()
    path = tmp_path / NAME
    known = b"".join(ENTRIES[:KNOWN])
    disk.write_atomically(path, known + bytes(zeros))
    disk.tell("known")
    index = Numbers.open(path, 0, 4_096, disk)
    index.entries += ENTRIES[KNOWN:]
    index.save(sync=True)
    assert path.read_bytes() == b"".join(ENTRIES)
    contents = [state[NAME] for told, state in crash_states(disk.steps, tmp_path) if told == "known"]
    assert len(contents) > 1
    assert all(content is not None and content.startswith(known) for content in contents)


def test_what_was_saved_with_sync_is_durable(tmp_path: Path) -> None:
    disk = RecordingDisk()
    index = Numbers.open(tmp_path / NAME, 0, 4_096, disk)
    index.entries = ENTRIES[:KNOWN]
    index.save(sync=False)
    index.save(sync=True)
    disk.fsync_directory(tmp_path)
    disk.tell("saved")
    [(_, state)] = [each for each in crash_states(disk.steps, tmp_path) if each[0] == "saved"]
    assert state[NAME] == b"".join(ENTRIES[:KNOWN])
