"""A random history of a simulated cluster, and what must hold at each moment of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from logstore import Log
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify.finding import Severity
from logstore.verify.verify import verify_root
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.testing import CONTROLLER, NetworkFaults, SimulatedCluster, SimulatedRecord

TOPIC, BROKERS = "history", (1, 2, 3)
STEPS = 24
VERIFIED = 20
"""Of so many histories the files of one are looked at in the end."""
_COMMAND = "repeat it by SIMULATED_SEED={} pytest tests/replication/testing/test_simulated_history.py"


class Scenario(NamedTuple):
    """What a seed chooses before anything happens."""

    partitions: int
    with_elr: bool
    ends_sessions: bool
    faults: NetworkFaults

    @classmethod
    def of(cls, random: Random) -> "Scenario":
        faults = NetworkFaults(
            longest_delay_ms=random.choice((1, 5, 40)),
            lost=random.choice((0.0, 0.0, 0.01, 0.05)),
            late=random.choice((0.0, 0.02, 0.1)),
        )
        return cls(random.choice((1, 1, 2)), random.random() < 0.8, random.random() < 0.6, faults)


@dataclass
class Watch:
    """Looks at all replicas of a partition after each event: what any leader has committed stays as it is.

    Each record is a batch of its own, so that its offset is its place in `committed`.
    """

    cluster: SimulatedCluster
    number: int
    committed: list[bytes] = field(default_factory=list)
    sent: list[SimulatedRecord] = field(default_factory=list)
    acknowledged: int = 0
    """How many of the records that were sent."""
    _seen: dict[int, tuple[Log, int]] = field(default_factory=dict)
    _led: dict[int, tuple[LedPartition, int]] = field(default_factory=dict)

    def look(self) -> None:
        for broker_id in BROKERS:
            if self.cluster.is_up(broker_id):
                self._look_at(broker_id)
        while self.acknowledged < len(self.sent) and self.sent[self.acknowledged].is_acknowledged:
            self._acknowledged(self.sent[self.acknowledged])

    def _look_at(self, broker_id: int) -> None:
        led = self.cluster.led(broker_id, TOPIC, self.number)
        log = self.cluster.log_or_none(broker_id, TOPIC, self.number)
        if log is None:
            return
        high_watermark = log.high_watermark
        if led is not None:
            known, before = self._led.get(broker_id, (led, 0))
            assert known is not led or high_watermark >= before, (
                f"the high watermark of leader {broker_id} goes back from {before} to {high_watermark}"
            )
            self._led[broker_id] = (led, high_watermark)
        looked_at, end = self._seen.get(broker_id, (log, 0))
        if looked_at is not log or end < high_watermark:
            self._compare(broker_id, log, end if looked_at is log else 0, high_watermark)
        self._seen[broker_id] = (log, high_watermark)

    def _compare(self, broker_id: int, log: Log, begin: int, end: int) -> None:
        for offset, batch in enumerate(_batches(log, begin, end), begin):
            if offset < len(self.committed):
                assert self.committed[offset] == batch, f"broker {broker_id} has committed another record at {offset}"
            else:
                self.committed.append(batch)
        assert len(self.committed) >= end, f"broker {broker_id} has no record below its high watermark {end}"

    def _acknowledged(self, record: SimulatedRecord) -> None:
        self.acknowledged += 1
        assert record.offset == self.acknowledged - 1, f"record {self.acknowledged} is at {record.offset}"
        assert record.offset < len(self.committed), f"record {record.offset} is acknowledged, and not committed"


class History:
    """What happens to a cluster by a seed; `steps` says what did."""

    def __init__(self, cluster: SimulatedCluster, random: Random, scenario: Scenario) -> None:
        self._cluster = cluster
        self._random = random
        self._scenario = scenario
        self.steps: list[str] = []
        self.watches = [Watch(cluster, number) for number in range(scenario.partitions)]
        self._unclean: dict[int, int] = {}
        """The epoch in which a broker was registered that was killed, and has not been in sync since."""
        self._lossy: set[int] = set()
        """Those of them that have lost records."""
        self._paused: set[int] = set()

    def happen(self, count: int) -> None:
        for _ in range(count):
            self._write(self._random.choice((0, 1, 1, 2, 5)))
            step = self._random.choice(
                (
                    self._stop,
                    self._kill,
                    self._lose,
                    self._lose,
                    self._start,
                    self._start,
                    self._start,
                    self._cut,
                    self._heal,
                    self._pause,
                    self._resume,
                    self._flush,
                )
            )
            told = step()
            if told:
                self.steps.append(f"{self._cluster.clock_ms}: {told}")
            self._run(int(2 ** self._random.uniform(3, 11)))

    def settle(self) -> None:
        """Let everybody be back, until all replicas have all that was sent."""
        self._let_all_be_back()
        self._until(self._is_settled, "all replicas have all that was sent")
        # A follower that has left an answer out hears of the high watermark with the next record, as by Kafka's.
        before = [len(watch.sent) for watch in self.watches]
        for watch in self.watches:
            self._send(watch)
        self._until(lambda: self._is_settled() and self._are_known(before), "all replicas know what is committed")
        self._until(self._is_answered, "consumers are answered")

    def _leaving(self) -> bool:
        return any(self._cluster.is_leaving(broker) for broker in BROKERS)

    def look(self) -> None:
        for watch in self.watches:
            watch.look()

    # ---

    def _run(self, milliseconds: int) -> None:
        self._cluster.run(milliseconds, after_each=self.look)

    def _until(self, holds: Callable[[], bool], wanted: str) -> None:
        self._cluster.run_until(holds, wanted, milliseconds=120_000, after_each=self.look)

    def _is_in_sync(self) -> bool:
        partitions = (self._cluster.partition(TOPIC, watch.number) for watch in self.watches)
        return all(map(self._cluster.is_running, BROKERS)) and all(len(each.isr) == len(BROKERS) for each in partitions)

    def _is_answered(self) -> bool:
        """Whether all leaders know by now that they lead still: after a session that was over, by newer metadata."""
        try:
            for watch in self.watches:
                self._cluster.fetch(TOPIC, watch.number, offset=len(watch.sent))
        except ValueError:
            return False
        return True

    def _is_settled(self) -> bool:
        if not self._is_in_sync():
            return False
        return all(
            watch.acknowledged == self._cluster.log(broker, TOPIC, watch.number).log_end_offset == len(watch.sent)
            for watch in self.watches
            for broker in BROKERS
        )

    def _are_known(self, committed: list[int]) -> bool:
        return all(
            self._cluster.log(broker, TOPIC, watch.number).high_watermark >= end
            for watch, end in zip(self.watches, committed, strict=True)
            for broker in BROKERS
        )

    def _note_recovered(self) -> None:
        for broker, epoch in list(self._unclean.items()):
            is_new = self._cluster.image.brokers[broker].epoch != epoch
            states = (self._cluster.partition(TOPIC, watch.number) for watch in self.watches)
            if is_new and all(broker in state.isr for state in states):
                del self._unclean[broker]
                self._lossy.discard(broker)

    def _choose(self, brokers: list[int]) -> int | None:
        return self._random.choice(brokers) if brokers else None

    def _up(self) -> list[int]:
        return [broker for broker in BROKERS if self._cluster.is_up(broker)]

    def _write(self, count: int) -> None:
        watch = self._random.choice(self.watches)
        for _ in range(count):
            self._send(watch)

    def _send(self, watch: Watch) -> None:
        value = b"%d of %d" % (len(watch.sent), watch.number)
        watch.sent.append(self._cluster.produce(TOPIC, value, watch.number))

    def _stop(self) -> str:
        broker = self._choose([each for each in self._up() if self._cluster.is_running(each)])
        if broker is None or broker in self._paused:
            return ""
        self._cluster.stop(broker)
        return f"stop {broker}"

    def _kill(self) -> str:
        self._note_recovered()
        broker = self._choose([each for each in self._up() if not self._lossy or each in self._lossy])
        if broker is None:
            return ""
        self._fell(broker)
        self._cluster.kill(broker)
        return f"kill {broker}"

    def _fell(self, broker: int) -> None:
        self._paused.discard(broker)
        known = self._cluster.image.brokers.get(broker)
        self._unclean[broker] = -1 if known is None else known.epoch

    def _lose(self) -> str:
        """Kill a broker that loses its pages, while no other has fallen: two that lose them lose what only they had.

        Without eligible leader replicas only while all are in sync, and until they are again: who is the last in sync
        leads whatever it has lost.
        """
        self._note_recovered()
        broker = self._choose([each for each in self._up() if not self._unclean or set(self._unclean) == {each}])
        if broker is None:
            return ""
        if self._scenario.with_elr:
            self._fell(broker)
            self._lossy.add(broker)
            return f"kill {broker}, {self._cluster.kill(broker, lose_unflushed=True)} bytes lost"
        self._make_whole()
        self._fell(broker)
        lost = self._cluster.kill(broker, lose_unflushed=True)
        self._run(self._random.choice((0, 1, 100, 3_000)))
        self._make_whole()
        self._cluster.heal(faults=self._scenario.faults)
        return f"kill {broker}, {lost} bytes lost, and start it"

    def _make_whole(self) -> None:
        self._let_all_be_back()
        self._run(2_000)  # what was lost before is noticed
        self._until(self._is_in_sync, "all are in sync")

    def _let_all_be_back(self) -> None:
        self._cluster.heal(faults=NetworkFaults())
        for broker in sorted(self._paused):
            self._resume_one(broker)
        self._start_all()
        # What an earlier start sent may register so late, in the place of who has started or was paused: that one ends.
        self._run(self._scenario.faults.longest_late_ms + 500)
        self._start_all()

    def _start_all(self) -> None:
        self._until(lambda: not self._leaving(), "who leaves has left")
        for broker in BROKERS:
            if not self._cluster.is_up(broker):
                self._cluster.start(broker)

    def _start(self) -> str:
        broker = self._choose([each for each in BROKERS if not self._cluster.is_up(each)])
        if broker is None:
            return ""
        self._cluster.start(broker)
        return f"start {broker}"

    def _cut(self) -> str:
        one, other = self._random.sample((*BROKERS, CONTROLLER), 2)
        self._cluster.cut(one, other)
        return f"cut {one} from {other}"

    def _heal(self) -> str:
        self._cluster.heal()
        return "heal"

    def _pause(self) -> str:
        broker = self._choose([each for each in self._up() if each not in self._paused])
        if broker is None:
            return ""
        self._cluster.pause(broker)
        self._paused.add(broker)
        return f"pause {broker}"

    def _resume(self) -> str:
        broker = self._choose(sorted(self._paused))
        if broker is None:
            return ""
        self._resume_one(broker)
        return f"resume {broker}"

    def _resume_one(self, broker: int) -> None:
        self._paused.discard(broker)
        if self._cluster.is_up(broker):
            self._cluster.resume(broker)

    def _flush(self) -> str:
        broker = self._choose(self._up())
        logs = (
            [] if broker is None else [self._cluster.log_or_none(broker, TOPIC, each.number) for each in self.watches]
        )
        for log in logs:
            if log is not None:
                log.flush()
        return f"flush {broker}"


class Outcome(NamedTuple):
    """Of a history."""

    records: int
    steps: list[str]
    digest: str
    clock_ms: int


def run_history(seed: int, steps: int = STEPS) -> Outcome:
    """Run a history and check it. Raises AssertionError with the history in it."""
    random = Random(seed)
    scenario = Scenario.of(random)
    with SimulatedCluster(
        len(BROKERS),
        seed=seed,
        faults=scenario.faults,
        eligible_leader_replicas=scenario.with_elr,
        ends_sessions=scenario.ends_sessions,
    ) as cluster:
        configs = {"min.insync.replicas": "2"}
        cluster.create_topic(TOPIC, partitions=scenario.partitions, replication_factor=3, configs=configs)
        history = History(cluster, random, scenario)
        try:
            history.happen(steps)
            history.settle()
            for watch in history.watches:
                _check(cluster, watch)
            if seed % VERIFIED == 0:
                _verify(cluster)
        except Exception as error:
            told = f"{_COMMAND.format(seed)}: {scenario}; {'; '.join(history.steps)}"
            raise AssertionError(f"{type(error).__name__}: {error}; {told}") from error
        records = sum(len(watch.sent) for watch in history.watches)
        return Outcome(records, history.steps, cluster.trace_digest, cluster.clock_ms)


def _check(cluster: SimulatedCluster, watch: Watch) -> None:
    watch.look()
    assert watch.acknowledged == len(watch.sent), "not all records are acknowledged"
    logs = [cluster.log(broker, TOPIC, watch.number) for broker in BROKERS]
    for log in logs:
        assert list(_batches(log, 0, log.log_end_offset)) == watch.committed, f"{log.directory} differs"
    values = [record.value for record in cluster.fetch(TOPIC, watch.number)]
    assert values == [record.value for record in watch.sent], "the records are not those that were sent, each once"
    # A leader that has written nothing yet is known to itself alone.
    epochs = {
        tuple(each for each in log.epochs.history.entries if each.start_offset < log.log_end_offset) for log in logs
    }
    assert len(epochs) == 1, f"epoch histories differ: {epochs}"


def _verify(cluster: SimulatedCluster) -> None:
    for broker in BROKERS:
        cluster.stop(broker)
    cluster.run_until(lambda: not any(map(cluster.is_up, BROKERS)), "all brokers have stopped")
    for broker in BROKERS:
        root = OfflineLogDirectory.open(cluster.root(broker))
        findings = [each for each in verify_root(root, records=True) if each.severity is Severity.ERROR]
        assert not findings, f"broker {broker}: {findings}"


def _batches(log: Log, begin: int, end: int) -> Iterator[bytes]:
    while begin < end:
        view, position = log.read(begin, 1 << 20), 0
        for batch in view.batches():
            if batch.base_offset < end:
                yield bytes(view.data[position : position + batch.size])
            position += batch.size
            begin = batch.last_offset + 1
