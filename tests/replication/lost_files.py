"""What may become of a replica's files while its broker is down."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.offline.log_file import LogFile

Loss = Callable[[Path, Path], None]
"""What is done to a partition's directory, of which an older copy is given."""


def _last_segment(directory: Path) -> Path:
    return max(directory.glob("*.log"))


def _batch_in_the_middle(segment: Path) -> int:
    with LogFile.open(segment) as log:
        positions = [batch.position for batch in log.batches()]
    return positions[len(positions) // 2]


def gone(directory: Path, older: Path) -> None:
    """Its directory is gone."""
    del older
    shutil.rmtree(directory)


def cut_at_a_batch(directory: Path, older: Path) -> None:
    """What is left is sound."""
    del older
    segment = _last_segment(directory)
    os.truncate(segment, _batch_in_the_middle(segment))


def cut_inside_a_batch(directory: Path, older: Path) -> None:
    """The last batch is torn."""
    del older
    segment = _last_segment(directory)
    os.truncate(segment, segment.stat().st_size - 10)


def cut_in_half(directory: Path, older: Path) -> None:
    """Much of it is gone."""
    del older
    segment = _last_segment(directory)
    os.truncate(segment, segment.stat().st_size // 2)


def emptied(directory: Path, older: Path) -> None:
    """The files are there, and nothing in them."""
    del older
    for path in directory.glob("*.log"):
        os.truncate(path, 0)


def replaced_by_an_older_copy(directory: Path, older: Path) -> None:
    """All of it is sound."""
    shutil.rmtree(directory)
    shutil.copytree(older, directory)


def _segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def first_segment_gone(directory: Path, older: Path) -> None:
    """With all its files."""
    del older
    _remove(_segments(directory)[0])


def middle_segment_gone(directory: Path, older: Path) -> None:
    """With all its files."""
    del older
    _remove(_segments(directory)[1])


def middle_segment_emptied(directory: Path, older: Path) -> None:
    """Its indexes are left."""
    del older
    os.truncate(_segments(directory)[1], 0)


def middle_segment_older(directory: Path, older: Path) -> None:
    """It is put back as it was before its last batches."""
    del older
    segment = _segments(directory)[1]
    _remove(segment, but=segment)
    os.truncate(segment, _batch_in_the_middle(segment))


def segments_swapped(directory: Path, older: Path) -> None:
    """Two have each other's names."""
    del older
    first, second, *_ = _segments(directory)
    aside = first.rename(first.with_suffix(".aside"))
    second.rename(first)
    aside.rename(second)


def _remove(segment: Path, *, but: Path | None = None) -> None:
    for path in segment.parent.glob(f"{segment.stem}.*"):
        if path != but:
            path.unlink()


def flipped(directory: Path, older: Path) -> None:
    """A bit in the middle is another one: whoever recovers the log sees it."""
    del older
    segment = _last_segment(directory)
    content = bytearray(segment.read_bytes())
    content[_batch_in_the_middle(segment) + _IN_CHECKSUM] ^= 1
    segment.write_bytes(content)


def zeroed(directory: Path, older: Path) -> None:
    """A block in the middle is lost, and what follows it is sound."""
    del older
    segment = _last_segment(directory)
    content = bytearray(segment.read_bytes())
    at = _batch_in_the_middle(segment)
    content[at : at + _BLOCK] = bytes(min(_BLOCK, len(content) - at))
    segment.write_bytes(content)


def lose_all_but_the_marker(root: Path) -> None:
    """The checkpoint files too: no file says what it had."""
    kept = {name: (root / name).read_bytes() for name in (CLEAN_SHUTDOWN_NAME, META_PROPERTIES_NAME)}
    shutil.rmtree(root)
    root.mkdir()
    for name, content in kept.items():
        (root / name).write_bytes(content)


def unchanged(directory: Path, older: Path) -> None:
    """As if nothing had happened to it by itself."""
    del directory, older


_IN_CHECKSUM: Final = 18
_BLOCK: Final = 64
DAMAGES: Final[Mapping[str, Loss]] = {each.__name__: each for each in (flipped, zeroed)}
"""Damage that only recovery after an unclean stop is sure to see."""
LOSSES: Final[Mapping[str, Loss]] = {
    each.__name__: each
    for each in (
        gone,
        cut_at_a_batch,
        cut_inside_a_batch,
        cut_in_half,
        emptied,
        replaced_by_an_older_copy,
    )
}
LOST_SEGMENTS: Final[Mapping[str, Loss]] = {
    each.__name__: each
    for each in (
        first_segment_gone,
        middle_segment_gone,
        middle_segment_emptied,
        middle_segment_older,
        segments_swapped,
    )
}
"""Of a log that has several: nothing is wrong at its end."""
