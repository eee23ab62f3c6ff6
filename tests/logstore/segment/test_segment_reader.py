"""Batches of a segment are found the same in the mapped file and in a copy of its end."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batches
from logstore.errors import LogStoreError
from logstore.log_config import LogConfig
from logstore.segment import segment_file
from logstore.segment.live_segment import LiveSegment
from logstore.segment.read_view import ReadView
from tests.logstore.batches import simple_batch

LEGACY: Final = sorted((Path(__file__).parents[2] / "data/legacy").glob("*.log"))
NAME: Final = f"{0:020}.log"


@pytest.fixture(autouse=True, scope="module")
def _all_is_copied() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_file, "LARGEST_COPY", 1 << 60)
        patch.setattr(segment_file, "MOST_COPIED", 1 << 60)
        yield


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Batches of magic 2 with gaps between their offsets, or a file of Kafka's of an earlier one."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(LEGACY)).read_bytes()
    made, offset = b"", 0
    for gap, records, size in draw(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=12)):
        values = [bytes(10 * size)] * (records + 1)
        made += simple_batch(offset + gap, values)
        offset += gap + len(values)
    return made


class Both:
    """A segment's file, opened twice: to be mapped, and to be copied, with the same index entries."""

    def __init__(self, directory: Path, content: bytes, indexed: list[Batch]) -> None:
        (directory / NAME).write_bytes(content)
        self.mapped, self.copied = [
            LiveSegment(directory, 0, LogConfig(index_interval_bytes=0), size=len(content)) for _ in range(2)
        ]
        for segment in (self.mapped, self.copied):
            segment.indexes.begin()
            for batch in indexed:
                segment.indexes.offset.append(batch.last_offset, batch.position)
        self.copied.file.append(b"")  # which opens it

    def read(self, offset: int, max_bytes: int, size: int, min_one_batch: bool) -> tuple[object, object]:
        """What both tell."""
        told = [told_by(segment, offset, max_bytes, size, min_one_batch) for segment in (self.mapped, self.copied)]
        assert not len(self.copied.file._view)
        return told[0], told[1]

    def close(self) -> None:
        """Close both."""
        self.mapped.file.close()
        self.copied.file.close()


def told_by(segment: LiveSegment, offset: int, max_bytes: int, size: int, min_one_batch: bool) -> object:
    """All that a read shows, or how it fails."""
    try:
        view = segment.reader.read(offset, max_bytes, size, min_one_batch=min_one_batch)
        found = segment.reader.locate(offset, size)
    except LogStoreError as error:
        return repr(error)
    return found, None if view is None else shown(view)


def shown(view: ReadView) -> object:
    """All that a view shows."""
    try:
        records = list(view.records())
    except LogStoreError as error:
        return bytes(view.data), view.position, repr(error)
    return bytes(view.data), view.position, view.next_offset, view.first_batch_incomplete, records


@given(contents(), st.data())
def test_reads_give_the_same_either_way(content: bytes, data: st.DataObject) -> None:
    batches = list(read_batches(memoryview(content)))
    end = batches[-1].last_offset + 1
    indexed = [batch for batch in batches if data.draw(st.booleans())]
    with TemporaryDirectory() as directory:
        both = Both(Path(directory), content, indexed)
        for _ in range(data.draw(st.integers(1, 4))):
            last = data.draw(st.sampled_from(batches))
            size = data.draw(st.sampled_from([last.position, last.position + last.size, len(content)]))
            mapped, copied = both.read(
                data.draw(st.integers(0, end)), data.draw(st.integers(0, 400)), size, data.draw(st.booleans())
            )
            assert mapped == copied
        both.close()


@given(contents(), st.data())
def test_damage_is_told_the_same_either_way(content: bytes, data: st.DataObject) -> None:
    batches = list(read_batches(memoryview(content)))
    damaged = bytearray(content)
    damaged[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    indexed = [batch for batch in batches if data.draw(st.booleans())]
    with TemporaryDirectory() as directory:
        both = Both(Path(directory), bytes(damaged), indexed)
        try:
            mapped, copied = both.read(
                data.draw(st.integers(0, batches[-1].last_offset)), data.draw(st.integers(1, 400)), len(content), True
            )
            assert mapped == copied
        finally:
            both.close()
