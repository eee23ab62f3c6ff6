"""Bits that flip in the files of an open log, unnoticed by the system: no record that was not written is served."""

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from epoch.errors import EpochError
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.errors import CorruptBatchError, LogStoreError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.segment import segment_file
from tests.campaign import Campaign

CAMPAIGN = Campaign("latent corruption of an open log", full=10_000, share=400)
CONFIG = LogConfig(segment_bytes=1_500, index_interval_bytes=100, retention_ms=-1)
BASE_OFFSET_BYTES = 8
"""Of a batch's header: no checksum covers them, and only the batches beside it may contradict."""


@pytest.fixture(params=[0, 1 << 60], ids=["mapped", "copied"])
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Log:
    """Some segments of batches in all codecs, whose bytes are read by a mapping, or copied where it does not reach."""
    monkeypatch.setattr(segment_file, "MOST_COPIED", request.param)
    rng = random.Random(1)
    log = Log.open(tmp_path / "t-0", CONFIG)
    for number in range(60):
        values = [rng.randbytes(20) * rng.randrange(4) for _ in range(rng.randrange(1, 4))]
        template = BatchTemplate(codec=Codec(number % len(Codec)))
        log.append([Record.of(value) for value in values], leader_epoch=number // 20, template=template)
    log.flush()
    log.update_high_watermark(log.log_end_offset)
    return log


def served(log: Log, offset: int) -> list[Record]:
    """What a reader is given from an offset on, up to what it is told to be damaged."""
    records: list[Record] = []
    try:
        while offset < log.log_end_offset:
            view = log.read(offset, 400)
            for record in view.records():
                records.append(record)
                offset = record.offset + 1
    except (LogStoreError, EpochError, OSError):
        pass
    return records


def test_flipped_bits_of_an_open_log_are_never_served(log: Log) -> None:
    rng = random.Random(CAMPAIGN.seed)
    sound = {record.offset: record for record in served(log, 0)}
    assert list(sound) == list(range(log.log_end_offset))
    found = tried = 0
    for path, position, bit in islice(checked_bits(log, rng), CAMPAIGN.count):
        tried += 1
        flip(path, position, bit)
        start = rng.randrange(log.log_end_offset)
        for segment in log.segments:
            segment.file._tail = segment_file._NO_TAIL  # no copy from before serves anybody
        records = served(log, start)
        flip(path, position, bit)
        assert records == [sound[offset] for offset in range(start, start + len(records))], f"{path} {position} {bit}"
        found += start + len(records) < log.log_end_offset
    assert tried == CAMPAIGN.count
    assert found > tried // 10
    assert served(log, 0) == list(sound.values())
    log.close()
    CAMPAIGN.report(tried, f"{found} of them met by the reader")


def checked_bits(log: Log, rng: random.Random) -> Iterator[tuple[Path, int, int]]:
    """Draw bits of the log's files, most of them of segments; a batch's base offset is passed over, and drawn anew."""
    heads = {segment.path: {batch.position for batch in segment.batches()} for segment in log.segments}
    files = sorted(path for path in log.directory.iterdir() if path.stat().st_size)
    while True:
        path = rng.choice(log.segments).path if rng.random() < 0.8 else rng.choice(files)
        position, bit = rng.randrange(path.stat().st_size), 1 << rng.randrange(8)
        if not any(position - back in heads.get(path, ()) for back in range(BASE_OFFSET_BYTES)):
            yield path, position, bit


def flip(path: Path, position: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ bit]))


def test_a_base_offset_that_its_neighbours_contradict_is_not_served(log: Log) -> None:
    second = list(log.segments[0].batches())[1]
    flip(log.segments[0].path, second.position + 7, 0xFF)
    with pytest.raises(CorruptBatchError, match="the batch ends at 254, and what follows it begins at 2 "):
        list(log.read(0, 1 << 20).records())
    log.abandon()


def test_records_are_not_missed_in_front_of_a_batch_that_the_index_leads_past(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", LogConfig(index_interval_bytes=0)) as log:
        for number in range(6):
            log.append([b"%d" % number])
        third = list(log.segments[0].batches())[2]
        flip(log.segments[0].path, third.position + 7, 2 ^ 1)  # what was offset 2 claims to be 1
        for offset in (1, 2):
            with pytest.raises(CorruptBatchError):
                next(log.records(offset))
        assert next(log.records(3)).value == b"3"
        log.abandon()
