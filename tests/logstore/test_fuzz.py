"""Hostile and damaged bytes: every parser answers with its own errors, soon, and within bounded memory.

Inputs are bit flips, truncations, splices, and overwritten lengths of real files, and bytes out of nothing. Checksums
are put right after half of the damage to batches, so that what lies behind them is reached.
"""

import json
import random
import signal
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.columns import StopReason
from logstore.batch.compression.codec import Codec, decompress
from logstore.batch.control import ControlRecord
from logstore.batch.legacy_batch import LegacyBatch
from logstore.errors import LogStoreError
from logstore.file_name import META_PROPERTIES_NAME, parse_file_name
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.meta_properties import MetaProperties
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.files.producer_snapshot import ProducerSnapshot
from logstore.files.quorum_state import QuorumState
from logstore.indexes.offset_index import OffsetIndex
from logstore.indexes.time_index import TimeIndex
from logstore.indexes.transaction_index import TransactionIndex
from logstore.offline.log_file import LogFile
from logstore.topic_partition import parse_directory_name
from tests.campaign import Campaign
from tests.data.replicas import replicas
from tests.logstore.batch.compression.test_codec import COMPRESS
from tests.logstore.golden import LEGACY

MEGABYTE = 1 << 20
LIMIT = 4 * MEGABYTE
"""What one batch may decompress to here."""
SLOWEST = 30
"""Seconds that no input of this size comes near: a loop without end is broken there."""
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**63 - 1, 2**63, 2**64 - 1)

Parser = Callable[[bytes], object]


def read_log(data: bytes) -> None:
    """Read everything that a log file can tell, in every way."""
    log = LogFile(memoryview(data))
    count = 0
    try:
        for batch in log.batches():
            count += 1
            batch.is_valid()
            read_batch(batch)
    except LogStoreError as error:
        stopped_at = error.position
    else:
        stopped_at = len(data)
    chunks = list(log.scan())
    assert sum(map(len, chunks)) == count
    assert chunks[-1].next_position == stopped_at
    assert (chunks[-1].stop is StopReason.END) == (stopped_at == len(data))


def read_batch(batch: object) -> None:
    try:
        for record in batch.records(limit=LIMIT):  # type: ignore[attr-defined]
            if batch.is_control:  # type: ignore[attr-defined]
                ControlRecord.of(record).end_transaction_marker()
        _ = batch.base_offset, batch.record_count, batch.last_sequence, batch.codec  # type: ignore[attr-defined]
    except LogStoreError:
        pass


def read_index(data: bytes) -> None:
    for index in (OffsetIndex.parse(data, 2**62), TimeIndex.parse(data, 2**62)):
        index.lookup(5)
        assert len(index) == len(index.entries) <= index.slots


def read_codecs(data: bytes) -> None:
    for codec in range(8):
        for magic in (0, 2):
            try:
                assert len(decompress(codec, data, limit=LIMIT, magic=magic)) <= LIMIT
            except LogStoreError:
                continue


def read_name(data: bytes) -> None:
    text = data.decode("latin-1")
    parse_file_name(text)
    parse_directory_name(text)


PARSERS: dict[str, Parser] = {
    "log": read_log,
    "index": read_index,
    "codec": read_codecs,
    "transaction index": TransactionIndex.parse,
    "snapshot": ProducerSnapshot.parse,
    "offset checkpoint": OffsetCheckpoint.parse,
    "clean shutdown": CleanShutdown.parse,
    "partition metadata": PartitionMetadata.parse,
    "meta properties": MetaProperties.parse,
    "quorum state": QuorumState.parse,
    "name": read_name,
}
QUORUM_STATE = {"leaderId": 3, "leaderEpoch": 5, "votedId": -1, "currentVoters": [{"voterId": 3}], "data_version": 0}


@cache
def corpus(parser: str) -> list[bytes]:
    """Real input of each parser."""
    root = replicas("reconciled") / "broker-1"
    match parser:
        case "log":
            return [*small_logs(), *(path.read_bytes() for path in LEGACY.glob("*.log"))]
        case "index":
            return read_all(root, "*/*.index") + read_all(root, "*/*.timeindex")
        case "codec":
            content = json.dumps(QUORUM_STATE).encode() * 40
            return [COMPRESS[codec](content) for codec in Codec]
        case "transaction index":
            return read_all(root, "*/*.txnindex")
        case "snapshot":
            return read_all(root, "*/*.snapshot")
        case "offset checkpoint":
            return [(root / name).read_bytes() for name in OFFSET_CHECKPOINTS]
        case "clean shutdown":
            return read_all(root, CLEAN_SHUTDOWN_NAME)
        case "partition metadata":
            return read_all(root, f"*/{PARTITION_METADATA_NAME}")
        case "meta properties":
            return read_all(root, META_PROPERTIES_NAME)
        case "quorum state":
            return [json.dumps(QUORUM_STATE).encode()]
        case _:
            return [path.name.encode() for path in root.rglob("*")]


def read_all(root: Path, pattern: str) -> list[bytes]:
    return [path.read_bytes()[:65_536] for path in sorted(root.glob(pattern)) if path.stat().st_size]


def small_logs() -> Iterator[bytes]:
    """Each codec's, control and transactional batches, a few together."""
    for topic in ("codecs-0", "txns-0"):
        for path in sorted((replicas("diverged") / "broker-1" / topic).glob("*.log")):
            data = path.read_bytes()
            small = [batch for batch in LogFile.open(path).batches() if batch.size < 3000]
            for first, second in zip(small[::2], small[1::2], strict=False):
                yield b"".join(data[each.position : each.position + each.size] for each in (first, second))


def damage(chance: random.Random, parser: str) -> bytes:
    """One input: a real one, damaged once or a few times."""
    data = bytearray(chance.choice(corpus(parser)))
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        chance.choice(DAMAGES)(chance, data, parser)
    if parser == "log" and chance.random() < 0.5:
        mend_checksums(data)
    if parser == "snapshot" and chance.random() < 0.5 and len(data) >= 6:
        struct.pack_into(">I", data, 2, crc32c.crc32c(bytes(data[6:])))
    return bytes(data)


def flip(chance: random.Random, data: bytearray, _: str) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def truncate(chance: random.Random, data: bytearray, _: str) -> None:
    del data[chance.randint(0, len(data)) :]


def splice(chance: random.Random, data: bytearray, parser: str) -> None:
    other = chance.choice(corpus(parser))
    start = chance.randint(0, len(other))
    place = chance.randint(0, len(data))
    data[place : place + chance.choice((0, 0, chance.randint(0, 200)))] = other[start : start + chance.randint(0, 300)]


def overwrite(chance: random.Random, data: bytearray, _: str) -> None:
    size = chance.choice((1, 2, 4, 8))
    if len(data) >= size:
        value = chance.choice(EXTREMES) & (1 << 8 * size) - 1
        place = chance.randint(0, len(data) - size)
        data[place : place + size] = value.to_bytes(size, chance.choice(("big", "little")))


DAMAGES = (flip, flip, truncate, splice, overwrite, overwrite)


def mend_checksums(data: bytearray) -> None:
    """Make the checksums of all batches valid, so that the damage behind them is read."""
    try:
        for batch in LogFile(memoryview(bytes(data))).batches():
            end = batch.position + batch.size
            if isinstance(batch, LegacyBatch):
                struct.pack_into(">I", data, batch.position + 12, zlib.crc32(bytes(data[batch.position + 16 : end])))
            else:
                struct.pack_into(">I", data, batch.position + 17, crc32c.crc32c(bytes(data[batch.position + 21 : end])))
    except LogStoreError:
        pass


def parse(parser: str, data: bytes) -> None:
    """Feed a parser: it answers, or raises one of our errors, soon."""
    signal.alarm(SLOWEST)
    try:
        PARSERS[parser](data)
    except LogStoreError:
        pass
    except BaseException as error:
        error.add_note(f"the {parser} parser was given {data.hex()}")
        raise
    finally:
        signal.alarm(0)


@pytest.fixture(autouse=True, scope="module")
def _alarm() -> Iterator[None]:
    def too_long(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"still busy after {SLOWEST} seconds")

    before = signal.signal(signal.SIGALRM, too_long)
    yield
    signal.signal(signal.SIGALRM, before)


def test_every_parser_s_corpus_is_read_without_an_error() -> None:
    for name, parser in PARSERS.items():
        assert corpus(name), name
        if name != "name":
            for data in corpus(name):
                parser(data)


def test_damaged_files_bring_nothing_but_our_own_errors() -> None:
    campaign = Campaign("hostile bytes: files", full=120_000, share=12_000)
    chance = random.Random(campaign.seed)
    names = ["log"] * 6 + ["codec"] * 2 + list(PARSERS)
    corpora = {name: corpus(name) for name in PARSERS}
    assert corpora
    tracemalloc.start()
    try:
        for _ in range(campaign.count):
            name = chance.choice(names)
            parse(name, damage(chance, name))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One batch's output, once streamed and once whole, its records, and the parsers' own bookkeeping.
    assert peak < 8 * LIMIT
    campaign.report(campaign.count, f"peak {peak >> 10:,} KiB")


@pytest.mark.parametrize("parser", PARSERS)
@given(data=st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
def test_bytes_out_of_nothing_bring_nothing_but_our_own_errors(parser: str, data: bytes) -> None:
    parse(parser, data)


@given(
    data=st.binary(max_size=200),
    magic=st.integers(0, 3),
    attributes=st.integers(0, 127),
    count=st.integers(0, 2**31 - 1),
)
def test_a_right_header_before_random_bytes_brings_nothing_but_our_own_errors(
    data: bytes, magic: int, attributes: int, count: int
) -> None:
    newer = struct.pack(">hiqqqhii", attributes, 9, 0, 0, 1, 1, 1, count) + data
    older = struct.pack(">bb", magic, attributes) + data
    parse("log", struct.pack(">qiibI", 5, 9 + len(newer), 0, 2, crc32c.crc32c(newer)) + newer)
    parse("log", struct.pack(">qiI", 5, 4 + len(older), zlib.crc32(older)) + older)
