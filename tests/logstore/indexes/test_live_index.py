"""An index file is brought up to date so that a crash never takes along what it held before."""

from array import array
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from epoch.compiling.awaited_kernel import AwaitedKernel
from epoch.compiling.kernel import machine_code
from logstore.indexes import live_index
from logstore.indexes.live_index import LiveIndex, load_floor
from logstore.indexes.live_offset_index import LiveOffsetIndex
from logstore.indexes.live_time_index import LiveTimeIndex
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


def test_lookups_answer_alike_whoever_searches(tmp_path: Path) -> None:
    """The first few are searched in Python, those after them in compiled code; entries come and go in between."""
    offsets, times = (
        LiveOffsetIndex.open(tmp_path / "a", 1_000, 4_096),
        LiveTimeIndex.open(tmp_path / "b", 1_000, 4_096),
    )
    known: list[tuple[int, int, int]] = []
    for number in [1, 2, 3, 4, 5, 2, 3]:
        last_offset, position, timestamp = entry = 1_000 + 10 * number, 100 * number, 7 * number
        if known and entry <= known[-1]:
            known = [each for each in known if each < entry]
            offsets.truncate_to(last_offset)
            times.truncate_to(last_offset)
        known.append(entry)
        offsets.append(last_offset, position)
        times.append(timestamp, last_offset)
        for asked in range(1_000, 1_070):
            assert offsets.lookup(asked) == max((where for last, where, _ in known if last <= asked), default=0)
        for asked in range(50):
            assert times.lookup(asked) == max((last for last, _, time in known if time <= asked), default=1_000)


def test_entries_may_be_added_while_the_compiled_search_is_loaded(tmp_path: Path) -> None:
    """Whoever looks at an array's type holds its buffer meanwhile, and another thread appends."""
    index = LiveOffsetIndex.open(tmp_path / "a", 0, 4_096)

    def load(kernel: Any, *examples: object) -> Any:
        held = [memoryview(example) for example in examples if isinstance(example, array)]
        index.append(10, 100)
        assert len(held) == 2
        return machine_code(kernel, *examples)

    unloaded = {"i": AwaitedKernel(lambda: load_floor("i", "I"))}
    with patch("epoch.compiling.kernel.machine_code", load), patch.dict(live_index.FLOORS, unloaded):
        answers = [index.lookup(10) for _ in range(3)]
    assert answers[-1] == index.entries[-1].position == 100
