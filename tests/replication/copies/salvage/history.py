"""A partition's life by Kafka's rules, on logs of ours: leaders change uncleanly, producers send again what was not
acknowledged, transactions are committed and aborted, and markers are lost with their leaders.

What each broker has is noted beside its log, entry by entry, so that a test knows without reading the files.
"""

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from logstore import BatchTemplate, Log, OutOfOrderSequenceError, Record
from logstore.errors import InvalidProducerEpochError
from tests.disk import Unsynced

TOPIC = "t"


@dataclass(frozen=True)
class Sent:
    """A record as an application sent it; `value` is unique."""

    number: int
    key: bytes | None
    timestamp: int

    @property
    def value(self) -> bytes:
        return b"record-%d" % self.number

    def record(self) -> Record:
        return Record.of(self.value, self.key, timestamp=self.timestamp)


@dataclass(eq=False)
class Entry:
    """A batch as one leader wrote it; those who follow that leader have the same object."""

    base_offset: int
    count: int
    leader_epoch: int
    data: bytes
    producer: "Producer | None" = None
    sent: tuple[Sent, ...] = ()
    commits: bool | None = None
    """What a marker does to the transaction."""

    @property
    def end(self) -> int:
        return self.base_offset + self.count

    @property
    def is_transactional(self) -> bool:
        return self.producer is not None and self.producer.is_transactional


@dataclass(eq=False)
class Producer:
    """An idempotent producer, which has up to two batches in flight."""

    producer_id: int
    is_transactional: bool
    epoch: int = 0
    next_sequence: int = 0
    in_flight: list[tuple[int, tuple[Sent, ...]]] = field(default_factory=list)
    """First sequence number and records of what is not acknowledged."""
    ending: bool | None = None
    """Whether the coordinator commits or aborts its transaction; None while it does neither."""
    must_abort: bool = False
    has_begun: bool = False

    def begin_epoch(self) -> None:
        """Number what is in flight from 0 on, under a new epoch."""
        self.epoch += 1
        self.next_sequence = 0
        waiting, self.in_flight = self.in_flight, []
        for _, sent in waiting:
            self.put(sent)

    def put(self, sent: tuple[Sent, ...]) -> None:
        self.in_flight.append((self.next_sequence, sent))
        self.next_sequence += len(sent)


class History:
    """Brokers, of which one leads, and producers."""

    def __init__(self, rng: random.Random, directory: Path, brokers: int, *, keyed: float) -> None:
        self.rng = rng
        self.keyed = keyed
        self.roots = [directory / f"broker-{number}" for number in range(1, brokers + 1)]
        for root in self.roots:
            root.mkdir(parents=True)
        self.sent = 0
        self.logs = [Log.open(root / f"{TOPIC}-0", filesystem=Unsynced(), clock=self._now) for root in self.roots]
        self.entries: list[list[Entry]] = [[] for _ in self.roots]
        self.alive = list(range(brokers))
        self.leader, self.epoch = 0, 0
        self.producers = [Producer(7 + number, number >= 2) for number in range(4)]
        self.acknowledged: set[bytes] = set()
        self.aborted: set[bytes] = set()
        """Values of records whose transaction the coordinator decided to abort."""
        self._in_transaction: dict[Producer, list[Sent]] = {producer: [] for producer in self.producers}

    def run(self, steps: int) -> None:
        """Live for so many steps, with a failure in between for each broker but the last."""
        for _ in self.roots[1:]:
            self._live(self.rng.randint(0, steps))
            if self.rng.random() < 0.7:
                self.fail()
        self._live(self.rng.randint(0, steps))
        for log in self.logs:
            log.close()

    def _live(self, steps: int) -> None:
        actions = [self.send] * 6 + [self.deliver] * 6 + [self.replicate] * 4 + [self.end_transaction] * 2
        for _ in range(steps):
            self.rng.choice([*actions, self.write_marker, self.write_marker, self.send_plainly, self.elect])()

    def fail(self) -> None:
        """The leader fails with what only it has, and does not come back; its last answers do not reach everybody."""
        for producer in self.producers:
            if self.rng.random() < 0.5:
                self.send(producer)
                self.deliver(producer, are_lost=self.rng.random() < 0.5)
        self.alive.remove(self.leader)
        self.elect()

    def elect(self) -> None:
        """Any broker that is alive may become the leader, whatever it lacks."""
        self.leader = self.rng.choice(self.alive)
        self.epoch += self.rng.randint(1, 2)

    def replicate(self) -> None:
        """A follower truncates what its leader does not have, and takes a few batches."""
        follower = self.rng.choice(self.alive)
        if follower == self.leader:
            return
        ours, theirs = self.entries[follower], self.entries[self.leader]
        common = common_entries(ours, theirs)
        if common < len(ours):
            self.logs[follower].truncate_to(ours[common].base_offset)
            del ours[common:]
        for entry in theirs[common : common + self.rng.randint(0, 4)]:
            self.logs[follower].append_batches(entry.data)
            ours.append(entry)

    def send_plainly(self) -> None:
        """A producer without an id sends a record once."""
        sent = (self._record(),)
        self._append(None, sent, BatchTemplate())
        self.acknowledged.update(each.value for each in sent)

    def send(self, producer: Producer | None = None) -> None:
        producer = producer or self.rng.choice(self.producers)
        if len(producer.in_flight) == 2 or producer.must_abort or producer.ending is not None:
            return
        sent = tuple(self._record() for _ in range(self.rng.randint(1, 3)))
        producer.put(sent)
        producer.has_begun = True
        self._in_transaction[producer] += sent if producer.is_transactional else ()

    def deliver(self, producer: Producer | None = None, *, are_lost: bool | None = None) -> None:
        """What is in flight reaches the leader in order; acknowledgements may be lost, and then it is sent again."""
        producer = producer or self.rng.choice(self.producers)
        are_lost = self.rng.random() < 0.4 if are_lost is None else are_lost
        for sequence, sent in list(producer.in_flight):
            template = BatchTemplate(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                base_sequence=sequence,
                is_transactional=producer.is_transactional,
            )
            try:
                self._append(producer, sent, template)
            except (OutOfOrderSequenceError, InvalidProducerEpochError):
                producer.must_abort = producer.is_transactional
                if not producer.is_transactional:
                    producer.begin_epoch()
                return
            if are_lost:
                continue
            producer.in_flight.pop(0)
            if not producer.is_transactional:
                self.acknowledged.update(each.value for each in sent)

    def end_transaction(self) -> None:
        """The coordinator decides; the marker follows when it reaches a leader."""
        producer = self.rng.choice([each for each in self.producers if each.is_transactional])
        if not producer.has_begun or producer.ending is not None or (producer.in_flight and not producer.must_abort):
            return
        producer.ending = not producer.must_abort and self.rng.random() < 0.7
        if not producer.ending:
            self.aborted.update(each.value for each in self._in_transaction[producer])

    def write_marker(self) -> None:
        """A marker is written again where its acknowledgement was lost."""
        producer = self.rng.choice([each for each in self.producers if each.is_transactional])
        if producer.ending is None:
            return
        with suppress(InvalidProducerEpochError):
            info = self.logs[self.leader].append_end_transaction(
                producer.producer_id, producer.epoch, commit=producer.ending, leader_epoch=self.epoch
            )
            self._note(info.first_offset, 1, producer, commits=producer.ending)
        if self.rng.random() < 0.2:
            return
        if producer.ending:
            self.acknowledged.update(each.value for each in self._in_transaction[producer])
        self._in_transaction[producer] = []
        producer.in_flight = []
        if producer.must_abort:
            producer.begin_epoch()
        producer.must_abort, producer.has_begun, producer.ending = False, False, None

    def _now(self) -> int:
        """Milliseconds: producers' state does not expire meanwhile."""
        return 1_000 * self.sent

    def _record(self) -> Sent:
        self.sent += 1
        key = b"key-%d" % self.rng.randrange(8) if self.rng.random() < self.keyed else None
        return Sent(self.sent, key, self._now())

    def _append(self, producer: Producer | None, sent: tuple[Sent, ...], template: BatchTemplate) -> None:
        info = self.logs[self.leader].append(
            [each.record() for each in sent], leader_epoch=self.epoch, template=template
        )
        if not info.is_duplicate:
            self._note(info.first_offset, len(sent), producer, sent)

    def _note(
        self,
        offset: int,
        count: int,
        producer: Producer | None,
        sent: tuple[Sent, ...] = (),
        *,
        commits: bool | None = None,
    ) -> None:
        data = bytes(self.logs[self.leader].read(offset, 1 << 20).data)
        self.entries[self.leader].append(Entry(offset, count, self.epoch, data, producer, sent, commits))


def common_entries(ours: list[Entry], theirs: list[Entry]) -> int:
    """How many entries two logs begin with that are the same."""
    common = 0
    while common < min(len(ours), len(theirs)) and ours[common] is theirs[common]:
        common += 1
    return common


def transactions(entries: list[Entry]) -> Iterator[tuple[list[Entry], Entry | None]]:
    """The batches of each transaction, and the marker that ends it in this log."""
    begun: dict[Producer, list[Entry]] = {}
    for entry in entries:
        if not entry.is_transactional or entry.producer is None:
            continue
        if entry.commits is None:
            begun.setdefault(entry.producer, []).append(entry)
        elif entry.producer in begun:
            yield begun.pop(entry.producer), entry
    yield from ((batches, None) for batches in begun.values())
