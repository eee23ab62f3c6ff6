"""A leader that answers nonsense: nothing of it is stored, and only its partition suffers."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest

from epoch import EndOffset
from logstore import Log, Record
from logstore.batch.batch import RecordBatch
from replication.cluster.fetcher.decisions.fetch_state import Phase
from replication.cluster.fetcher.fetcher import Fetcher, FetcherResponse
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchRequest, FetchResponse
from replication.wire.messages.list_offsets import ListedOffset, ListOffsetsResponse
from replication.wire.messages.offset_for_leader_epoch import EpochAnswer, OffsetForLeaderEpochResponse
from tests.campaign import Campaign
from tests.replication.cluster.fetcher.drive import PARTITION, batches, exchange, open_log
from tests.replication.cluster.fetcher.leader import Leader

ANSWERS = Campaign("fetcher: fuzzed answers", full=100_000, share=1_000)

CHECKED_FROM = 21
"""From here on a batch's checksum covers it."""
EPOCHS = (0, 2, 3)
LEADER_EPOCH = 3
ROUNDS = 6
ODD = (-(2**63), -1, 0, 1, 2**31 - 1, 2**62, 2**63 - 1)


@pytest.fixture(scope="module")
def leader_log() -> Iterator[Log]:
    root = Path(mkdtemp(prefix="leader-"))
    log = open_log(root)
    for epoch in EPOCHS:
        for number in range(4):
            log.append([Record.of(b"%d of %d" % (number, epoch))] * (number + 1), leader_epoch=epoch)
    log.update_high_watermark(log.log_end_offset)
    yield log
    log.close()
    rmtree(root)


class Nonsense:
    """Puts nonsense into answers."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def of(self, response: FetcherResponse) -> FetcherResponse:
        if isinstance(response, FetchResponse):
            return self.fetch(response)
        if isinstance(response, ListOffsetsResponse):
            return ListOffsetsResponse(partitions={PARTITION: ListedOffset(self.error(), self.number())})
        end = EndOffset(self.rng.choice([-1, *EPOCHS, 7]), self.number())
        return OffsetForLeaderEpochResponse(partitions={PARTITION: EpochAnswer(self.error(), end)})

    def fetch(self, response: FetchResponse) -> FetchResponse:
        fetched = response.partitions.get(PARTITION)
        if fetched is None or self.rng.random() < 0.05:
            return self.rng.choice([FetchResponse(error=self.error(), partitions={}), response])
        change: Callable[[FetchedPartition], FetchedPartition] = self.rng.choice(
            [self.records, self.records, self.records, self.numbers, self.erring, self.diverging]
        )
        return FetchResponse(session_id=response.session_id, partitions={PARTITION: change(fetched)})

    def records(self, fetched: FetchedPartition) -> FetchedPartition:
        data = bytearray(fetched.records)
        for _ in range(self.rng.randint(1, 2)):
            data = self.rng.choice(
                [self.flipped, self.cut, self.swapped, self.lengthened, self.repeated, self.of_another_epoch]
            )(data)
        return fetched._replace(records=bytes(data))

    def numbers(self, fetched: FetchedPartition) -> FetchedPartition:
        return fetched._replace(high_watermark=self.rng.choice(ODD), log_start_offset=self.rng.choice(ODD))

    def erring(self, fetched: FetchedPartition) -> FetchedPartition:
        return fetched._replace(error=self.error(), records=b"")

    def diverging(self, fetched: FetchedPartition) -> FetchedPartition:
        return fetched._replace(diverging_epoch=EndOffset(self.rng.choice([-1, *EPOCHS]), self.number()), records=b"")

    def flipped(self, data: bytearray) -> bytearray:
        for _ in range(self.rng.randint(1, 3)):
            if data:
                data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
        return data

    def cut(self, data: bytearray) -> bytearray:
        return data[: self.rng.randrange(len(data) + 1)]

    def swapped(self, data: bytearray) -> bytearray:
        parts = split(data)
        self.rng.shuffle(parts)
        return bytearray(b"".join(parts))

    def repeated(self, data: bytearray) -> bytearray:
        parts = split(data)
        return bytearray(b"".join([*parts, *parts[-1:]]))

    def lengthened(self, data: bytearray) -> bytearray:
        if len(data) >= 12:
            data[8:12] = self.rng.choice([2**31 - 1, -1, 0, 48, 49, -(2**31)]).to_bytes(4, signed=True)
        return data

    def of_another_epoch(self, data: bytearray) -> bytearray:
        """One of the batches: its checksum does not cover the epoch."""
        parts = [bytearray(part) for part in split(data)]
        for part in self.rng.sample(parts, min(len(parts), 1)):
            part[12:16] = self.rng.choice([-1, *range(6), 2**31 - 1]).to_bytes(4, signed=True)
        return bytearray(b"".join(parts))

    def error(self) -> ErrorCode:
        return self.rng.choice([ErrorCode.NONE, *list(ErrorCode)])

    def number(self) -> int:
        return self.rng.choice([*ODD, self.rng.randrange(60)])


def split(data: bytearray) -> list[bytes]:
    """The batches, as far as their lengths can be believed."""
    parts, position = [], 0
    while position < len(data):
        length = int.from_bytes(data[position + 8 : position + 12], signed=True)
        end = position + 12 + length if 0 < length <= len(data) - position else len(data)
        parts.append(bytes(data[position:end]))
        position = end
    return parts


def test_nothing_is_stored_that_no_leader_wrote(leader_log: Log, tmp_path: Path) -> None:
    """Of what stands outside of the checksum an offset or an epoch may be wrong, but never goes back."""
    rng = random.Random(ANSWERS.seed)
    written = {batch[CHECKED_FROM:] for _, batch in batches(leader_log, 0, leader_log.log_end_offset)}
    answers, phases = 0, set()
    number = 0
    while answers < ANSWERS.count:
        number += 1
        answers += fuzz_one(rng, leader_log, tmp_path / str(number), written, phases)
    ANSWERS.report(answers)
    assert Phase.FETCHING in phases


def fuzz_one(rng: random.Random, leader_log: Log, root: Path, written: set[bytes], phases: set[Phase]) -> int:
    leader = Leader()
    leader.lead(PARTITION, leader_log, LEADER_EPOCH)
    identity = FetchIdentity() if rng.random() < 0.5 else FetchIdentity(5)
    fetcher = Fetcher(FetcherSettings(identity=identity, max_partition_bytes=rng.choice([100, 400, 2_000])))
    nonsense = Nonsense(rng)
    log = open_log(root)
    answers = 0
    with log:
        for each in leader_log.read(0, rng.choice([0, 200, 600]), min_one_batch=False).batches():
            log.append_batches(each.data[each.position : each.position + each.size])
        fetcher.follow(PARTITION, log, LEADER_EPOCH)
        for round_number in range(ROUNDS):
            now = round_number * 2_000
            for request in fetcher.requests(now):
                answer = leader.answer(request)
                fetcher.take(request, answer if rng.random() < 0.3 else nonsense.of(answer), now)
                answers += 1
            assert_sane(log, written)
        state = fetcher.state(PARTITION)
        assert state is not None
        assert state.phase is not Phase.FAILED, state.reason
        phases.add(state.phase)
    rmtree(root)
    return answers


def assert_sane(log: Log, written: set[bytes]) -> None:
    epoch = last_offset = -1
    for _, data in batches(log, log.log_start_offset, log.log_end_offset):
        batch = RecordBatch(memoryview(data))
        assert data[CHECKED_FROM:] in written
        assert last_offset < batch.base_offset <= batch.last_offset
        assert epoch <= batch.leader_epoch <= LEADER_EPOCH
        epoch, last_offset = batch.leader_epoch, batch.last_offset
    assert log.log_start_offset <= log.high_watermark <= log.log_end_offset


def test_a_nonsensical_partition_leaves_the_others_alone(leader_log: Log, tmp_path: Path) -> None:
    other = PARTITION._replace(partition=1)
    leader = Leader()
    leader.lead(PARTITION, leader_log, LEADER_EPOCH)
    leader.lead(other, leader_log, LEADER_EPOCH)
    fetcher = Fetcher()
    with open_log(tmp_path) as bad, open_log(tmp_path, other) as good:
        fetcher.follow(PARTITION, bad, LEADER_EPOCH)
        fetcher.follow(other, good, LEADER_EPOCH)
        (request,) = fetcher.requests(0)
        assert isinstance(request, FetchRequest)
        answer = leader.answer(request)
        assert isinstance(answer, FetchResponse)
        broken = answer.partitions[PARTITION]._replace(records=b"\xff" * 100)
        fetcher.take(request, FetchResponse(partitions={**answer.partitions, PARTITION: broken}), 0)
        exchange(fetcher, leader)
        assert bad.log_end_offset == 0
        assert good.log_end_offset == leader_log.log_end_offset
