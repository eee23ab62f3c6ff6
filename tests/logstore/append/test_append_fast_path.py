"""The short way of plain appends leads where the long way leads: to the same answers, errors and files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.append import append_fast_path, encoding
from logstore.append.append_info import AppendInfo
from logstore.batch.compression.codec import Codec, compress
from logstore.batch.record import Record
from logstore.errors import LogStoreError
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log import appender
from logstore.log.appender import Appender
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.logstore.batches import batch, record

T = TypeVar("T")
Appends = Sequence[tuple[bytes | list[Record | bytes], int]]
"""What is appended, and by the leader of which epoch."""

NOW = 10_000
COMPILED_FROM = st.sampled_from([0, 250])
"""Bytes: few, so that the compiled passes are tried with small batches."""
OFTEN = 12
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108  a private directory is made in it


def mostly(usual: T, *others: T) -> st.SearchStrategy[T]:
    return st.sampled_from([usual] * OFTEN + list(others))


CONFIGS = st.builds(
    LogConfig,
    segment_bytes=mostly(100_000, *[400, 2_000] * 5),
    segment_index_bytes=mostly(100_000, *[40] * 5),
    index_interval_bytes=st.sampled_from([0, 150, 1_000]),
    segment_ms=mostly(10**9, *[100] * 5),
    message_timestamp_before_max_ms=mostly(10**9, *[500] * 5),
    message_timestamp_after_max_ms=mostly(10**9, *[0] * 5),
    max_message_bytes=mostly(1_000, *[120] * 5),
    compression_type=mostly("producer", *["uncompressed", "gzip"] * 2),
    cleanup_policy=st.sampled_from([frozenset({"delete"})] * 5 + [frozenset({"compact"})]),
)


class Sent(NamedTuple):
    """A batch, but for its place in the log; most are sound and plain."""

    times: list[int]
    value: bytes
    keyed: bool
    gap: int
    epoch_step: int
    producer_id: int
    attributes: int
    magic: int
    lie: dict[str, int]
    codec: Codec = Codec.NONE
    first_delta: int = 0

    def encode(self, base_offset: int, leader_epoch: int) -> bytes:
        """Place it."""
        key = b"k" if self.keyed else None
        records = [
            record(offset_delta=number, timestamp_delta=time, key=key, value=self.value)
            for number, time in enumerate(self.times, self.first_delta)
        ]
        header = {"base_timestamp": NOW, "max_timestamp": NOW + max(self.times), "producer_id": self.producer_id}
        placed = {"base_offset": base_offset, "leader_epoch": leader_epoch, "magic": self.magic}
        attributes = self.attributes | self.codec
        section = compress(self.codec, b"".join(records))
        return batch(records=records, section=section, **(header | placed | {"attributes": attributes} | self.lie))


SENT = st.builds(
    Sent,
    times=st.lists(st.integers(-600, 2), min_size=1, max_size=12),
    value=st.binary(max_size=20),
    keyed=st.booleans(),
    gap=mostly(0, 1, 5, -1),
    epoch_step=mostly(0, 0, 1),
    producer_id=mostly(-1, -1, 7),
    attributes=mostly(0, 0x08, 0x20),
    magic=mostly(2, 2, 3),
    lie=st.sampled_from(
        [{}] * 6 * OFTEN
        + [{"crc": 1}, {"length": 70}, {"last_offset_delta": -1}, {"record_count": 1}, {"max_timestamp": NOW + 1}]
        + [{"attributes": 5}]
    ),
    codec=mostly(Codec.NONE, *[Codec.LZ4, Codec.GZIP, Codec.SNAPPY, Codec.ZSTD] * 2),
    first_delta=mostly(0, 1),
)
FETCHES = st.lists(st.lists(SENT, min_size=1, max_size=6), min_size=1, max_size=12)


@contextmanager
def short_way(compiled_from: int) -> Iterator[None]:
    with (
        patch.object(appender, "SEVERAL_BYTES", compiled_from),
        patch.object(append_fast_path, "SEVERAL_BYTES", compiled_from),
    ):
        yield


@contextmanager
def kernels_missing(compiled_from: int) -> Iterator[None]:
    with (
        short_way(compiled_from),
        patch.object(AwaitedKernel, "ready", lambda *_: None),
        patch.object(append_fast_path.APPEND_ONE, "code", None),
    ):
        yield


def long_way(_: int) -> AbstractContextManager[object]:
    nothing = lambda *_: None  # noqa: E731  in three places
    return patch.multiple(
        appender, plain_producer_batch=nothing, own_batch=nothing, HEADER_SIZE=2**62, SEVERAL_BYTES=2**62
    )


def append_all(log: Log, appends: Appends, *, lead: bool) -> Iterator[AppendInfo | str]:
    """Append each; give what was answered, or what was wrong."""
    for data, epoch in appends:
        try:
            if isinstance(data, bytes) and not lead:
                yield log.append_batches(data, leader_epoch=epoch)
            else:
                yield log.append(data, leader_epoch=epoch)
        except LogStoreError as error:
            yield f"{type(error).__name__} {error}".replace(str(log.directory), "")


def open_log(directory: Path, config: LogConfig) -> Log:
    """Without checkpoint files of its own, which cost time."""
    return Log.open(directory, config, clock=lambda: NOW, checkpoints=PartitionCheckpoints(clean_shutdown=True))


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def compare(config: LogConfig, appends: Appends, *, lead: bool, compiled_from: int = 250) -> int:
    """Append on both ways; return how many appends took the short one."""
    taken: list[AppendInfo] = []

    def counted(write: Callable[..., AppendInfo | None]) -> Callable[..., AppendInfo | None]:
        def count(self: Appender, *arguments: object, **named: object) -> AppendInfo | None:
            info = write(self, *arguments, **named)
            taken.extend([info] if info is not None else [])
            return info

        return count

    write_plain = Appender._write_plain
    found = []
    with TemporaryDirectory(prefix="epochlog-", dir=MEMORY) as root:
        for way in (short_way, kernels_missing, long_way):
            directory = Path(root, way.__name__, "t-0")
            directory.parent.mkdir()
            with (
                way(compiled_from),
                patch.object(Appender, "_write_plain", counted(write_plain) if way is short_way else write_plain),
                open_log(directory, config) as log,
            ):
                answers = list(append_all(log, appends, lead=lead))
                segments = [(each.base_offset, each.size, each.largest) for each in log.segments]
                state = (log.log_end_offset, log.epochs.entries, segments)
                rolls = [each.should_roll(1, NOW, log.log_end_offset, lambda: NOW, 0) for each in log.segments]
            found.append((answers, state, rolls, files(directory)))
    assert found[0] == found[1] == found[2]
    return len(taken)


@settings(max_examples=80)
@given(CONFIGS, FETCHES, COMPILED_FROM)
def test_a_follower_takes_plain_batches_as_it_takes_all_others(
    config: LogConfig, fetches: list[list[Sent]], compiled_from: int
) -> None:
    appends, offset, epoch = [], 0, 0
    for fetch in fetches:
        data = b""
        for sent in fetch:
            offset, epoch = max(offset + sent.gap, 0), epoch + sent.epoch_step
            data += sent.encode(offset, epoch)
            offset += len(sent.times)
        appends.append((data, epoch))
    event(f"short ways: {min(compare(config, appends, lead=False, compiled_from=compiled_from), 3)}")


@settings(max_examples=80)
@given(CONFIGS, st.lists(SENT, min_size=1, max_size=20), COMPILED_FROM)
def test_a_leader_takes_plain_batches_as_it_takes_all_others(
    config: LogConfig, batches: list[Sent], compiled_from: int
) -> None:
    appends, epoch = [], 0
    for sent in batches:
        epoch += sent.epoch_step
        appends.append((sent.encode(max(0, sent.gap), -1), epoch))
    event(f"short ways: {min(compare(config, appends, lead=True, compiled_from=compiled_from), 3)}")


MADE = st.lists(st.binary(max_size=40), min_size=1, max_size=12) | st.lists(
    st.builds(Record.of, st.binary(max_size=40), st.none() | st.just(b"k"), timestamp=st.integers(NOW - 600, NOW + 2)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=80)
@given(CONFIGS, st.lists(st.tuples(MADE, mostly(0, 0, 1)), min_size=1, max_size=20))
def test_a_leader_takes_what_it_encodes_itself_as_it_takes_what_it_is_sent(
    config: LogConfig, calls: list[tuple[list[Record | bytes], int]]
) -> None:
    epochs = accumulate(step for _, step in calls)
    with patch.object(encoding, "now_ms", lambda: NOW):
        taken = compare(config, [(made, epoch) for (made, _), epoch in zip(calls, epochs, strict=True)], lead=True)
    event(f"short ways: {min(taken, 3)}")


PLAIN = Sent([0, 1], b"value", keyed=True, gap=0, epoch_step=0, producer_id=-1, attributes=0, magic=2, lie={})
FAULTS: list[dict[str, Any]] = [
    *({"lie": lie} for lie in ({"crc": 1}, {"length": 70}, {"last_offset_delta": 7}, {"record_count": 1})),
    *({"lie": lie} for lie in ({"max_timestamp": NOW + 2}, {"attributes": 5}, {"base_offset": 1})),
    *({"attributes": attributes} for attributes in (0x08, 0x20)),
    {"producer_id": 7},
    {"magic": 3},
    {"times": [0, -600]},
]


@pytest.mark.parametrize("compiled_from", [0, 250])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_no_odd_batch_of_a_producer_takes_the_short_way(
    fault: dict[str, Any], codec: Codec, compiled_from: int
) -> None:
    plain = PLAIN._replace(codec=codec)
    appends = [(sent.encode(0, -1), 0) for sent in (plain, plain._replace(**fault), plain)]
    config = LogConfig(message_timestamp_before_max_ms=500)
    assert compare(config, appends, lead=True, compiled_from=compiled_from) == 1


@pytest.mark.parametrize("policy", [{"compression_type": "gzip"}, {"compression_type": "uncompressed"}])
def test_a_batch_whose_codec_changes_takes_the_long_way(policy: dict[str, Any]) -> None:
    appends = [(PLAIN._replace(codec=Codec.LZ4).encode(0, -1), 0)] * 3
    assert compare(LogConfig(**policy), appends, lead=True) == 0


def test_compressed_records_that_do_not_count_from_0_take_the_long_way() -> None:
    appends = [(PLAIN._replace(codec=Codec.LZ4, first_delta=1).encode(0, -1), 0)] * 3
    assert compare(LogConfig(), appends, lead=True) == 0


@pytest.mark.parametrize("batches", [2, 4])
def test_an_index_that_is_full_ends_a_segment_on_either_way(batches: int) -> None:
    sent = [PLAIN._replace(times=[number, number + 1]).encode(2 * number, 0) for number in range(9 * batches)]
    appends = [(b"".join(sent[start : start + batches]), 0) for start in range(0, len(sent), batches)]
    config = LogConfig(index_interval_bytes=0, segment_index_bytes=60)
    compare(config, appends, lead=False, compiled_from=0)


def test_most_appends_take_the_short_way() -> None:
    one = [(PLAIN.encode(2 * number, 0), 0) for number in range(10)]
    many = [(b"".join(PLAIN.encode(20 * call + 2 * each, 0) for each in range(10)), 0) for call in range(10)]
    sent = [(PLAIN._replace(codec=codec).encode(0, -1), 0) for codec in Codec for _ in range(2)]
    made: list[list[Record | bytes]] = [[b"value", b"value"], [Record.of(b"value", timestamp=NOW)]]
    # The first batch of an epoch goes the long way: the epoch must be noted.
    assert compare(LogConfig(), one, lead=False) == 9
    assert compare(LogConfig(), many, lead=False) == 9
    assert compare(LogConfig(), sent, lead=True) == 9
    with patch.object(encoding, "now_ms", lambda: NOW):
        assert compare(LogConfig(), [(each, 0) for each in made * 5], lead=True) == 9


def test_a_batch_that_is_too_large_is_refused_on_either_way() -> None:
    large = PLAIN._replace(value=bytes(90)).encode(0, -1)
    appends = [(PLAIN.encode(0, -1), 0), (PLAIN.encode(0, -1), 0), (large, 0)]
    assert compare(LogConfig(max_message_bytes=len(large) - 1), appends, lead=True) == 1


@pytest.mark.parametrize("compiled_from", [0, 2**62])
@pytest.mark.parametrize("lead", [False, True])
def test_bytes_with_gaps_in_between_are_refused(tmp_path: Path, compiled_from: int, *, lead: bool) -> None:
    reversed_twice = memoryview(PLAIN.encode(0, 0)[::-1])[::-1]
    with short_way(compiled_from), open_log(tmp_path / "t-0", LogConfig()) as log:
        log.append_batches(PLAIN.encode(0, 0))
        with pytest.raises(BufferError):
            log.append(reversed_twice, leader_epoch=0) if lead else log.append_batches(reversed_twice)
        assert log.log_end_offset == 2
