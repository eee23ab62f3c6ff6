"""A cluster of our brokers in one thread, whose time and network are simulated."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import MappingProxyType, TracebackType
from typing import Final, Self

from logstore import Log, Record, TopicPartition
from logstore.batch.batches import read_batches
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS, UNCLEAN_LEADER_ELECTION
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration
from replication.testing.errors import NotReachedError
from replication.testing.links import CONTROLLER
from replication.testing.simulated.controller_process import ControllerProcess
from replication.testing.simulated.machine import Machine
from replication.testing.simulated.network import Network, NetworkFaults
from replication.testing.simulated.process import Process
from replication.testing.simulated.simulated_broker import BrokerTimes, SimulatedBroker
from replication.testing.simulated.simulated_producer import CLIENT, SimulatedProducer, SimulatedRecord
from replication.testing.simulated.timeline import Timeline
from replication.testing.simulated.trace import Trace
from replication.testing.topic_creation import create_topic
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType
from replication.wire.messages.fetch import FetchPartition, FetchRequest

_CLUSTER_ID: Final = "epochlog-simulated-clu"
_BEGIN_MS: Final = 1_700_000_000_000
"""What the brokers' clocks say at the beginning, in milliseconds since 1970."""
_HEARTBEATS_A_SESSION: Final = 6
_TIMEOUT_MS: Final = 1_000
_SHUTDOWN_MS: Final = 3_000
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  a directory of its own is made in it
_PRODUCER_IDS: Final = 1_000
_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})
_NO_FAULTS: Final = NetworkFaults()


class SimulatedCluster:
    """Brokers 1 to N and a controller in one thread: real decisions and logs, driven by simulated events.

    Real are `Controller` and `BrokerRequests`, `BrokerLifecycle`, `ReplicaManager` and its leaders, the handlers of
    Fetch, Produce, ListOffsets and OffsetForLeaderEpoch, `Fetcher`, and the logs on disk. Events of a timeline stand in
    for `BrokerThread`, `IsrQueue` and `AskingThread`, the threads of `FetcherManager`, servers and connections, and
    `StaticController` with `StoredMetadata`: what is wrong in those is not found here.

    Nothing happens but in `run` and `run_until`, and with the same seed the same happens: a cluster that is killed,
    cut and delayed for a minute is simulated in a fraction of a second, and what went wrong once goes wrong again.

    >>> with SimulatedCluster(brokers=3, seed=7) as cluster:
    ...     cluster.create_topic("orders", configs={"min.insync.replicas": "2"})
    ...     sent = cluster.produce("orders", b"first")
    ...     cluster.kill(cluster.leader("orders"), lose_unflushed=True)
    ...     cluster.run_until(lambda: sent.is_acknowledged, "the record is acknowledged")
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        seed: int = 0,
        faults: NetworkFaults = _NO_FAULTS,
        eligible_leader_replicas: bool = True,
        ends_sessions: bool = True,
        session_timeout_ms: int = 1_500,
        replica_lag_time_max_ms: int = 1_000,
        defaults: Mapping[str, str] = _NO_CONFIGS,
        directory: Path | None = None,
    ) -> None:
        """Start all brokers, and let time pass until they run.

        `faults` are the network's. Without `eligible_leader_replicas` leaders are elected as before KIP-966. With
        `ends_sessions` a broker that comes back where it reaches the controller may register at once, else only once
        its last session has run out.
        `defaults` are the controller's, for topics that set nothing: min.insync.replicas and
        unclean.leader.election.enable; others are a ValueError. Files lie in `directory` and stay there; without
        one, in a temporary directory, in memory where the system has one there, that `close` removes. The other times
        are those of `Cluster`.
        """
        strange = sorted(defaults.keys() - {MIN_IN_SYNC_REPLICAS, UNCLEAN_LEADER_ELECTION})
        if strange:
            raise ValueError(f"{', '.join(strange)}: nothing that the controller decides by")
        with ExitStack() as stack:
            if directory is None:
                memory = _MEMORY if os.access(_MEMORY, os.W_OK) else None
                made = stack.enter_context(TemporaryDirectory(prefix="epochlog-simulated-", dir=memory))
                directory = Path(made)
            self.directory: Final = directory
            self._timeline: Final = Timeline()
            self._trace: Final = Trace(lambda: self._timeline.now_ms)
            self._network: Final = Network(self._timeline, _random(seed, "network"), faults, self._trace)
            self._controller: Final = ControllerProcess(
                _CLUSTER_ID,
                ControllerSettings(
                    broker_session_timeout_ms=session_timeout_ms,
                    leader_imbalance_check_interval_ms=None,
                    default_replication_factor=min(brokers, 3),
                    defaults=dict(defaults),
                ),
                self._timeline,
                _random(seed, "controller"),
                ends_sessions=ends_sessions,
            )
            begin_cluster(self._controller, eligible_leader_replicas=eligible_leader_replicas)
            self._network.servers[CONTROLLER] = self._controller
            times = BrokerTimes(
                heartbeat_ms=session_timeout_ms // _HEARTBEATS_A_SESSION,
                session_ms=session_timeout_ms,
                lag_ms=replica_lag_time_max_ms,
                timeout_ms=_TIMEOUT_MS,
                shutdown_ms=_SHUTDOWN_MS,
            )
            self._machines: Final = {
                broker_id: Machine(
                    broker_id,
                    directory / f"broker-{broker_id}",
                    _CLUSTER_ID,
                    self._network,
                    _random(seed, f"broker {broker_id}"),
                    times,
                    self._wall_clock,
                )
                for broker_id in range(1, brokers + 1)
            }
            self._client: Final = Process(self._timeline)
            self._producers: Final[dict[TopicPartition, SimulatedProducer]] = {}
            stack.callback(self._end)
            for machine in self._machines.values():
                machine.start()
            self.run_until(lambda: all(map(self.is_running, self._machines)), "all brokers run")
            self._open: Final = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all files. It may be called again."""
        self._open.close()

    # --- time

    @property
    def clock_ms(self) -> int:
        """The milliseconds that have passed in the cluster."""
        return self._timeline.now_ms

    def run(self, milliseconds: int, *, after_each: Callable[[], object] | None = None) -> None:
        """Advance the cluster's time; `after_each` is called after each message that has arrived."""
        end_ms = self.clock_ms + milliseconds
        while self._step(end_ms, after_each):
            pass

    def run_until(
        self,
        holds: Callable[[], bool],
        wanted: str,
        *,
        milliseconds: int = 60_000,
        after_each: Callable[[], object] | None = None,
    ) -> None:
        """Advance the cluster's time until something holds; `wanted` describes it.

        Raises NotReachedError after so many milliseconds.
        """
        end_ms = self.clock_ms + milliseconds
        while not holds():
            if not self._step(end_ms, after_each):
                raise NotReachedError(wanted, milliseconds / 1_000)

    # --- clients

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = -1,
        replicas: Sequence[Sequence[int]] = (),
        configs: Mapping[str, str] = _NO_CONFIGS,
    ) -> None:
        """Make a topic, and let time pass until it is led; `replicas` names the brokers of each partition.

        Raises ValueError where the controller refuses, and NotReachedError.
        """
        create_topic(self._controller, name, partitions, replication_factor, replicas, configs)
        for number in self.image.topics.by_name[name].partitions:
            self.run_until(partial(self.is_led, name, number), f"{name}-{number} is led")

    def produce(self, topic: str, value: bytes, number: int = 0, *, acks: int = -1) -> SimulatedRecord:
        """Send a record, as an idempotent producer that asks again until it is answered; time is yet to pass.

        `acks` is 1, or -1 for all in sync. Raises ValueError for others.
        """
        if acks not in (-1, 1):
            raise ValueError(f"acks={acks}: who waits for no acknowledgement learns nothing; pass 1 or -1")
        partition = TopicPartition(topic, number)
        producer = self._producers.get(partition)
        if producer is None:
            producer = self._producers[partition] = SimulatedProducer(
                partition,
                _PRODUCER_IDS + len(self._producers),
                self._network,
                self._client,
                lambda: self.leader(topic, number),
                self._wall_clock,
                _TIMEOUT_MS,
            )
        return producer.send(value, acks)

    def fetch(self, topic: str, number: int = 0, *, offset: int = 0, broker_id: int | None = None) -> list[Record]:
        """Return the committed records that a consumer would be given now, by the leader or by another broker.

        No time passes. Raises ValueError where the broker is down or refuses, with the code it answers.
        """
        partition = TopicPartition(topic, number)
        asked = self.leader(topic, number) if broker_id is None else broker_id
        request = FetchRequest(partitions={partition: FetchPartition(offset, 1 << 30)}, max_wait_ms=0)
        broker = self._machines[asked].broker if asked in self._machines else None
        answer = None if broker is None else broker.answer_now(request)
        if answer is None:
            raise ValueError(f"{partition}: broker {asked} does not answer")
        fetched = answer.partitions[partition]
        if fetched.error is not ErrorCode.NONE:
            raise ValueError(f"{partition}: broker {asked} answers {fetched.error.name}")
        return [
            record for batch in read_batches(fetched.records) for record in batch.records() if record.offset >= offset
        ]

    # --- what it is like

    @property
    def image(self) -> ClusterImage:
        """The cluster as its controller knows it."""
        return self._controller.published.image

    def partition(self, topic: str, number: int = 0) -> PartitionRegistration:
        """Return a partition as the controller knows it. Raises LookupError."""
        return self.image.topics.by_name[topic].partitions[number]

    def leader(self, topic: str, number: int = 0) -> int:
        """Return the broker that leads a partition; -1 where none does."""
        return self.partition(topic, number).leader

    def log(self, broker_id: int, topic: str, number: int = 0) -> Log:
        """Return a replica of a broker that is up. Raises KeyError where it has none, and ValueError."""
        return self._up(broker_id).directories.partitions[TopicPartition(topic, number)]

    def log_or_none(self, broker_id: int, topic: str, number: int = 0) -> Log | None:
        """Return a replica; None where its broker is down or has none."""
        broker = self._machines[broker_id].broker
        return None if broker is None else broker.directories.roots[0].partitions.get(TopicPartition(topic, number))

    def led(self, broker_id: int, topic: str, number: int = 0) -> LedPartition | None:
        """Return what a broker that is up and takes itself for a partition's leader knows of it; else None."""
        broker = self._machines[broker_id].broker
        hosted = None if broker is None or broker.replicas is None else broker.replicas.hosted
        partition = None if hosted is None else hosted.get(TopicPartition(topic, number))
        return None if partition is None else partition.led

    def root(self, broker_id: int) -> Path:
        """Return a broker's log.dirs root."""
        return self._machines[broker_id].root

    def is_up(self, broker_id: int) -> bool:
        """Whether a broker's process is there."""
        return self._machines[broker_id].broker is not None

    def is_running(self, broker_id: int) -> bool:
        """Whether a broker is up, and has been unfenced."""
        broker = self._machines[broker_id].broker
        return broker is not None and broker.is_running

    def is_leaving(self, broker_id: int) -> bool:
        """Whether a broker is about to stop in order."""
        broker = self._machines[broker_id].broker
        return broker is not None and broker.is_leaving

    def is_led(self, topic: str, number: int = 0) -> bool:
        """Whether the leader of a partition is up and knows that it leads."""
        state = self.partition(topic, number)
        led = self.led(state.leader, topic, number) if state.leader in self._machines else None
        return led is not None and led.leader_epoch == state.leader_epoch

    @property
    def trace(self) -> tuple[str, ...]:
        """The last things that happened, a line each, after the millisecond."""
        return tuple(self._trace.lines)

    @property
    def trace_digest(self) -> str:
        """A digest of all that has happened: two runs that are the same have the same."""
        return self._trace.digest

    # --- what happens to it

    def stop(self, broker_id: int) -> None:
        """Shut down a broker in a controlled way: it hands over what it leads, and is down some time later."""
        self._note(f"stop {broker_id}")
        self._machines[broker_id].stop()

    def kill(self, broker_id: int, *, lose_unflushed: bool = False) -> int:
        """End a broker at once, as SIGKILL does, or a loss of power; return how many bytes of its files are lost."""
        self._note(f"kill {broker_id}{', unflushed lost' if lose_unflushed else ''}")
        return self._machines[broker_id].kill(lose_unflushed=lose_unflushed)

    def start(self, broker_id: int) -> None:
        """Start a broker that is down, on its directory."""
        self._note(f"start {broker_id}")
        self._machines[broker_id].start()
        if not self._network.is_cut(broker_id, CONTROLLER):
            self._controller.end_session(broker_id)

    def elect_uncleanly(self, topic: str, number: int = 0) -> None:
        """Elect any replica whose broker is up, if no other can lead, as an administrator may."""
        partition = TopicPartition(topic, number)
        self._note(f"an unclean election of {partition}")
        self._controller.decide(lambda controller: controller.elect_leaders(ElectionType.UNCLEAN, [partition]))

    def pause(self, broker_id: int) -> None:
        """Pause a broker, as SIGSTOP does. Raises ValueError where it is down."""
        self._note(f"pause {broker_id}")
        self._up(broker_id).process.pause()

    def resume(self, broker_id: int) -> None:
        """Resume a broker with all that it has missed. Raises ValueError where it is down."""
        self._note(f"resume {broker_id}")
        self._up(broker_id).process.resume()

    def cut(self, one: int, other: int) -> None:
        """Cut the link between two nodes, by broker ids, CONTROLLER or CLIENT. Raises ValueError for others."""
        self._ensure_nodes(one, other)
        self._note(f"cut {one} {other}")
        self._network.cut(one, other)

    def mend(self, one: int, other: int) -> None:
        """Restore the link between two nodes. Raises ValueError for unknown ones."""
        self._ensure_nodes(one, other)
        self._note(f"mend {one} {other}")
        self._network.mend(one, other)

    def heal(self, *, faults: NetworkFaults | None = None) -> None:
        """Restore all links; `faults` become the network's from now on."""
        self._note("heal")
        self._network.heal()
        if faults is not None:
            self._network.faults = faults

    # ---

    def _ensure_nodes(self, *named: int) -> None:
        strange = sorted(set(named) - {CONTROLLER, CLIENT, *self._machines})
        if strange:
            raise ValueError(f"{', '.join(map(str, strange))}: no broker of the cluster, nor CONTROLLER or CLIENT")

    def _up(self, broker_id: int) -> SimulatedBroker:
        broker = self._machines[broker_id].broker
        if broker is None:
            raise ValueError(f"broker {broker_id} is down")
        return broker

    def _step(self, end_ms: int, after_each: Callable[[], object] | None) -> bool:
        do = self._timeline.next_until(end_ms)
        if do is None:
            return False
        told = self._trace.count
        do()
        if after_each is not None and self._trace.count > told:
            after_each()
        return True

    def _wall_clock(self) -> int:
        return _BEGIN_MS + self._timeline.now_ms

    def _note(self, line: str) -> None:
        self._trace.note(line)

    def _end(self) -> None:
        with ExitStack() as stack:  # each, whatever comes of the others
            for machine in self._machines.values():
                if machine.broker is not None:
                    stack.callback(machine.kill, lose_unflushed=False)


def _random(seed: int, what: str) -> Random:
    """Return a source of chance of one part, whatever the others draw."""
    return Random(f"{seed} {what}")  # noqa: S311  no secret
