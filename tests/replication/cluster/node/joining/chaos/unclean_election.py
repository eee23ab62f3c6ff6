"""An unclean election between two brokers, of which one has records that were acknowledged and the other lacks."""

from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaError, Message, Producer

from logstore import TopicPartition
from tests.replication.cluster.node.joining.administrator import Administrator
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster
from tests.replication.testing.stopped_replicas import loaded
from tests.replication.waiting import SECONDS, wait_until

_RECORDS: Final = 30


@dataclass
class UncleanElection:
    """`loser` leads, is alone in the end and dies; `winner` is elected without what was written meanwhile."""

    cluster: MixedCluster
    topic: str
    loser: int
    winner: int
    acknowledged: list[bytes] = field(default_factory=list)
    """Records, in their order."""
    lost: set[bytes] = field(default_factory=set)
    """Those that are lost, as the dry run said."""

    def __post_init__(self) -> None:
        self._administrator = Administrator(self.cluster)
        self.partition = TopicPartition(self.topic, 0)

    def hold(self) -> None:
        """Let it come to that, and hold it as administrators do; the loser is down afterwards."""
        told = self._administrator
        replicas = (self.loser, self.winner)
        wait_until(lambda: told.create(self.topic, [replicas], min_insync_replicas=1), f"{self.topic} is made")
        told.lead(self.partition, replicas)
        self._write("both")
        # A winner that was just started counts as in sync until its last session is over, when it is left out.
        wait_until(self._have_the_same, f"broker {self.winner} has all that broker {self.loser} has of {self.topic}")
        told.wait_for(self.partition, isr=set(replicas))
        self.cluster.kill(self.winner)
        told.wait_for(self.partition, leader=self.loser, isr={self.loser})
        self._write("alone")
        self.cluster.kill(self.loser)
        self.cluster.start(self.winner, wait=False)
        told.wait_for(self.partition, leader=-1)
        wait_until(self._is_ready, f"broker {self.winner} is unfenced")
        self._foretell()
        wait_until(self._is_elected, f"broker {self.winner} leads {self.topic}")
        self._write("elected")

    def check(self) -> None:
        """See that the log has what was acknowledged, but for what was foretold to be lost. Raises AssertionError."""
        log = loaded(self.cluster.log_dir(self.winner), self.partition)
        found = [record.value for record in log.records(end=log.log_end_offset)]
        assert found == [value for value in self.acknowledged if value not in self.lost], self.topic

    def _foretell(self) -> None:
        directories = [
            argument for node in (self.loser, self.winner) for argument in ("--log-dir", self.cluster.log_dir(node))
        ]
        told = self._administrator.elect("unclean", *self._named(), "--dry-run", "--json", *directories)
        assert told.status == 1, told.err
        foreseen: dict[str, Any] = told.document["partitions"][0]
        assert (foreseen["would_lead"], foreseen["isr"], foreseen["unclean"]) == (self.winner, [self.winner], True)
        lost = foreseen["lost"][str(self.loser)]
        log = loaded(self.cluster.log_dir(self.loser), self.partition)
        self.lost = {record.value or b"" for record in log.records(lost["truncate_to"], log.log_end_offset)}
        assert len(self.lost) == lost["records_lost"] == _RECORDS

    def _have_the_same(self) -> bool:
        """Whether both have written as many bytes; each leads or follows, so that one of them has written no others."""
        sizes = [
            sum(each.stat().st_size for each in (self.cluster.log_dir(node) / str(self.partition)).glob("*.log"))
            for node in (self.loser, self.winner)
        ]
        return sizes[0] == sizes[1] > 0

    def _is_ready(self) -> bool:
        view = self._administrator.view()
        return view is not None and any(each.id == self.winner and not each.is_fenced for each in view.brokers)

    def _is_elected(self) -> bool:
        self._administrator.elect("unclean", *self._named())
        told = self._administrator.partitions().get(self.partition)
        return told is not None and told.leader == self.winner

    def _named(self) -> tuple[object, ...]:
        return ("--topic", self.topic, "--partition", 0)

    def _write(self, tag: str) -> None:
        """Write records, and wait until all are acknowledged by all that are in sync."""

        def note(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            self.acknowledged.append(bytes(message.value() or b""))

        producer = Producer({"bootstrap.servers": self.cluster.bootstrap(), "acks": "all", "enable.idempotence": True})
        for number in range(_RECORDS):
            producer.produce(self.topic, f"{tag} {number}".encode(), partition=0, on_delivery=note)
        assert producer.flush(SECONDS) == 0
