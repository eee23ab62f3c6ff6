"""A producer of a simulated cluster: it sends each record until it is told that it is there."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from logstore import Record, TopicPartition
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from replication.records.metadata.records import NO_LEADER
from replication.testing.simulated.network import Network
from replication.testing.simulated.process import Alarm, Process
from replication.testing.simulated.simulated_channel import SimulatedChannel
from replication.wire.error_code import ErrorCode
from replication.wire.messages.produce import ProduceRequest, ProduceResponse

CLIENT: Final = -2
"""Who produces, among the nodes."""
_AGAIN_MS: Final = 50
_SEQUENCES: Final = 1 << 31


@dataclass(slots=True, eq=False)
class SimulatedRecord:
    """A record on its way."""

    value: bytes
    acks: int
    offset: int | None = None
    """Where it is, once that is acknowledged."""
    refusals: int = 0
    """How often a broker has refused it, or has not answered."""

    @property
    def is_acknowledged(self) -> bool:
        """Whether it is known to be there."""
        return self.offset is not None


class SimulatedProducer:
    """Idempotent: of one partition, one record after the other, each once and in order."""

    def __init__(
        self,
        partition: TopicPartition,
        producer_id: int,
        network: Network,
        process: Process,
        leader: Callable[[], int],
        wall_clock: Callable[[], int],
        timeout_ms: int,
    ) -> None:
        """`leader` returns whom the cluster knows as the partition's leader."""
        self._partition: Final = partition
        self._producer_id: Final = producer_id
        self._network: Final = network
        self._process: Final = process
        self._leader: Final = leader
        self._wall_clock: Final = wall_clock
        self._timeout_ms: Final = timeout_ms
        self._waiting: Final[deque[tuple[SimulatedRecord, bytes]]] = deque()
        self._count = 0
        self._is_asking = False
        self._broker = NO_LEADER
        self._channel: SimulatedChannel | None = None
        self._again: Final = Alarm(process, self._send)

    def send(self, value: bytes, acks: int) -> SimulatedRecord:
        """Send a record after those before it."""
        template = BatchTemplate(
            producer_id=self._producer_id, producer_epoch=0, base_sequence=self._count % _SEQUENCES
        )
        self._count += 1
        sent = SimulatedRecord(value, acks)
        self._waiting.append((sent, bytes(encode_batch([Record.of(value, timestamp=self._wall_clock())], template))))
        self._again.set_in(0)
        return sent

    def _send(self) -> None:
        if self._is_asking or not self._waiting:
            return
        leader = self._leader()
        if leader == NO_LEADER:
            self._again.set_in(_AGAIN_MS)
            return
        if self._channel is None or leader != self._broker:
            self._broker, nodes = leader, (CLIENT, leader)
            self._channel = SimulatedChannel(
                self._network, self._process, nodes, timeout_ms=2 * self._timeout_ms, arrives_late=True
            )
        sent, data = self._waiting[0]
        request = ProduceRequest(partitions={self._partition: data}, acks=sent.acks, timeout_ms=self._timeout_ms)
        self._is_asking = True
        self._channel.ask(request, partial(self._answered, sent), partial(self._failed, sent))

    def _answered(self, sent: SimulatedRecord, response: ProduceResponse) -> None:
        answer = response.partitions[self._partition]
        if answer.error is not ErrorCode.NONE:
            self._failed(sent, answer.error.name)
            return
        self._is_asking = False
        sent.offset = answer.base_offset
        self._waiting.popleft()
        self._send()

    def _failed(self, sent: SimulatedRecord, reason: str) -> None:
        del reason
        self._is_asking = False
        sent.refusals += 1
        self._again.set_in(_AGAIN_MS)
