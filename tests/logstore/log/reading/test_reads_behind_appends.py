"""Who reads behind the appends, and holds what it has read, uses up neither time nor mappings."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from logstore.files.mapped_files import map_file
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.segment import segment_file

APPENDS = 300
READERS = 16
VALUE = bytes(1_000)


@pytest.fixture
def mappings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are mapped from now on."""
    mapped: list[Path] = []

    def note(path: Path, size: int) -> memoryview:
        mapped.append(path)
        return map_file(path, size)

    monkeypatch.setattr(segment_file, "map_file", note)
    return mapped


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0") as log:
        yield log


@pytest.mark.parametrize("isolation", Isolation)
def test_views_that_are_held_take_a_mapping_for_a_megabyte_and_not_for_an_append(
    log: Log, mappings: list[Path], isolation: Isolation
) -> None:
    views = []
    for number in range(APPENDS):
        log.append([b"%d" % number + VALUE])
        log.update_high_watermark(log.log_end_offset)
        views.append(log.read(number, 1 << 20, isolation=isolation))
    assert len(mappings) <= 2
    for number, view in enumerate(views):
        assert [record.value for record in view.records()] == [b"%d" % number + VALUE]


def test_readers_that_keep_up_share_what_is_read(log: Log, mappings: list[Path]) -> None:
    def read() -> int:
        offset = 0
        while offset < APPENDS and log.wait(offset, 60):
            view = log.read(offset, 1 << 20)
            for record in view.records():
                assert record.value == b"%d" % record.offset + VALUE
            offset = view.next_offset
        return offset

    with ThreadPoolExecutor(READERS) as threads:
        readers = [threads.submit(read) for _ in range(READERS)]
        for number in range(APPENDS):
            log.append([b"%d" % number + VALUE])
        assert [reader.result(60) for reader in readers] == [APPENDS] * READERS
    # As many bytes as are copied for each of them: those of a reader, of all where they come one by one.
    assert len(mappings) <= READERS


def test_a_reader_that_is_behind_has_the_file_mapped(log: Log, mappings: list[Path]) -> None:
    for _ in range(APPENDS):
        log.append([VALUE])
    assert len(log.read(0, 1 << 20)) > segment_file.LARGEST_COPY
    assert len(mappings) == 1
    log.append([VALUE])
    assert log.read(APPENDS, 1 << 20).next_offset == APPENDS + 1
    assert len(mappings) == 1
