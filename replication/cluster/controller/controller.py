"""The active controller: requests in, decisions out (Kafka: QuorumController).

It holds no log, socket or clock. A process around it, one request at a time,

    decision = controller.heartbeat(request, now)     # or another request; Refusal: answer with its code
    log.append(decision.records)                      # at controller.next_offset
    controller.appended(decision)                     # replays the records
    ...                                               # gives decision.answer once the records are committed

and, whenever `wake_at` has come, does the same with what `tick` returns, until that is None. Where appending fails,
another node is the controller: discard this one. Times are milliseconds of a clock that never goes back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar
from uuid import UUID, uuid4

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.brokers import broker_changes
from replication.cluster.controller.brokers.broker_registry import register_broker, registered, unregister_broker
from replication.cluster.controller.brokers.heartbeats import ControlState, HeartbeatIntent, Heartbeats
from replication.cluster.controller.brokers.sessions import BrokerIncarnation, BrokerSessions
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.directory_assignments import assign_directories
from replication.cluster.controller.elections import (
    ElectionAnswer,
    balance_leaders,
    elect_leaders,
    elect_uncleanly,
)
from replication.cluster.controller.isr_changes import IsrChangeAnswer, change_isrs
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.settings.setting_changes import (
    ResourceChanges,
    SettingsAnswer,
    change_settings,
    replace_settings,
)
from replication.cluster.controller.topics.reassignments import (
    OngoingReassignment,
    ReassignmentAnswer,
    ReassignmentRequest,
    alter_reassignments,
    list_reassignments,
)
from replication.cluster.controller.topics.topics import (
    MorePartitions,
    NewTopic,
    TopicAnswer,
    TopicMaker,
    delete_topics,
)
from replication.records.metadata.nodes import BrokerRegistration, changed_broker
from replication.records.metadata.records import MetadataRecord, ProducerIdsRecord, RegisterBrokerRecord
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import AlterPartitionRequest
from replication.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, PlacementAnswer
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from replication.wire.messages.elect_leaders import ElectionType

T = TypeVar("T")
BLOCK_SIZE: Final = 1_000
_HIGHEST_ID: Final = (1 << 63) - 1


def allocate_producer_ids(cluster: ClusterState, broker_id: int, broker_epoch: int) -> Decision[range]:
    """Give a broker the next block of ids. Refuses with STALE_BROKER_EPOCH, and once there are no more."""
    registered(cluster, broker_id, broker_epoch)
    first = cluster.image.next_producer_id
    if first > _HIGHEST_ID - BLOCK_SIZE:
        raise Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"all producer ids up to {first} have been given")
    end = first + BLOCK_SIZE
    record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=end)
    return Decision([record], range(first, end))


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Settings of a controller, under Kafka's names; times in milliseconds."""

    broker_session_timeout_ms: int = 9000
    leader_imbalance_check_interval_ms: int | None = 300_000
    """None where leaders are not balanced (auto.leader.rebalance.enable)."""
    leader_imbalance_per_broker_percentage: int | None = None
    """Leave a broker alone that lacks no more of the leaderships that are preferably its own; None balances all, as
    Kafka's KRaft controller does whatever this setting says."""
    unclean_leader_election_interval_ms: int = 300_000
    as_kafka: bool = False
    """Decide as Kafka's controller does even where that loses committed records; see `Rules` for the two cases."""
    num_partitions: int = 1
    default_replication_factor: int = 1
    defaults: Mapping[str, str] = field(default_factory=dict)
    """For topics without a setting of their own. min.insync.replicas and unclean.leader.election.enable count for what
    is decided; the others are reported when topics are created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswer:
    """What the controller makes of the broker, not all of which the response says (Kafka: BrokerHeartbeatReply)."""

    broker_id: int
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool
    in_controlled_shutdown: bool


class Controller:
    """Decides from a ClusterState, which only `appended` and `replay` change, and from who was heard of when."""

    def __init__(
        self,
        cluster_id: str,
        settings: ControllerSettings = ControllerSettings(),
        *,
        next_offset: int = 0,
        random: Random | None = None,
        new_topic_id: Callable[[], UUID] = uuid4,
    ) -> None:
        """`next_offset` is where the log starts that will be replayed; `random` says where replicas are placed."""
        self.cluster_id = cluster_id
        self.settings = settings
        self.cluster: ClusterState = ClusterState(settings.defaults, as_kafka=settings.as_kafka)
        self.next_offset: int = next_offset
        self.heartbeats: Heartbeats = Heartbeats()
        self.sessions: BrokerSessions = BrokerSessions(settings.broker_session_timeout_ms)
        self._topic_maker = TopicMaker(
            random or Random(),  # noqa: S311 - placement is no secret
            new_topic_id,
            settings.num_partitions,
            settings.default_replication_factor,
        )
        self._balance_at: int | None = None
        self._elect_uncleanly_at: int | None = None

    # The log

    def replay(self, records: Iterable[MetadataRecord]) -> None:
        """Replay records from `next_offset` on. Raises InvalidReplayError where they do not follow from the state."""
        for record in records:
            self.cluster.replay(record, self.next_offset)
            self.next_offset += 1
            broker_id = changed_broker(record)
            if broker_id is not None:
                self._track(broker_id, is_registration=isinstance(record, RegisterBrokerRecord))

    def appended(self, decision: Decision[T]) -> T:
        """Replay the records of a decision, which are in the log by now, and return its answer."""
        self.replay(decision.records)
        if isinstance(decision.answer, HeartbeatAnswer) and decision.answer.in_controlled_shutdown:
            self.heartbeats.enter_controlled_shutdown(decision.answer.broker_id, self.next_offset - 1)
        return decision.answer

    def activate(self, now: int) -> None:
        """Begin to decide, with the log replayed: each broker gets a whole session to be heard of."""
        for broker in self.cluster.image.brokers.values():
            self.sessions.contact(BrokerIncarnation(broker.id, broker.epoch), now)
        if self.settings.leader_imbalance_check_interval_ms is not None:
            self._balance_at = now + self.settings.leader_imbalance_check_interval_ms
        self._elect_uncleanly_at = now + self.settings.unclean_leader_election_interval_ms

    def _track(self, broker_id: int, *, is_registration: bool) -> None:
        broker = self.cluster.image.brokers.get(broker_id)
        if broker is None or is_registration:
            self.heartbeats.remove(broker_id)
        if broker is not None:
            self.heartbeats.register(broker_id, fenced=broker.fenced)

    # Requests of brokers

    def register_broker(self, request: BrokerRegistrationRequest, now: int) -> Decision[int]:
        """Register a broker; the answer is its broker epoch."""
        return register_broker(
            self.cluster,
            request,
            cluster_id=self.cluster_id,
            next_offset=self.next_offset,
            has_session=lambda incarnation: self.sessions.has_session(incarnation, now),
        )

    def unregister_broker(self, broker_id: int) -> Decision[None]:
        """Forget a broker that will not come back."""
        return unregister_broker(self.cluster, broker_id)

    def heartbeat(self, request: BrokerHeartbeatRequest, now: int) -> Decision[HeartbeatAnswer]:
        """Note that a broker lives, and fence it, unfence it or let it shut down as the heartbeat asks."""
        self.sessions.contact(BrokerIncarnation(request.broker_id, request.broker_epoch), now)
        registration_offset = self.cluster.registration_offsets.get(request.broker_id)
        if registration_offset is None:
            message = f"No register broker record offset for broker {request.broker_id}"
            raise Refusal(ErrorCode.STALE_BROKER_EPOCH, message)
        broker = registered(self.cluster, request.broker_id, request.broker_epoch)
        intent = HeartbeatIntent(request.want_fence, request.want_shut_down, request.current_metadata_offset)
        leads = self.cluster.index.leads
        state = self.heartbeats.next_state(broker.id, intent, registration_offset, lambda: leads(broker.id))
        records = self._records_of(broker, state)
        if self.cluster.rules.directories:
            records += broker_changes.lose_directories(self.cluster, broker, set(request.offline_log_dirs))
        records += broker_changes.cordon_directories(self.cluster, broker, request.cordoned_log_dirs)
        self.heartbeats.touch(broker.id, fenced=state.fenced, metadata_offset=request.current_metadata_offset)
        answer = HeartbeatAnswer(
            broker_id=broker.id,
            is_caught_up=intent.is_caught_up(registration_offset),
            is_fenced=state.fenced,
            should_shut_down=state.should_shut_down,
            in_controlled_shutdown=state.in_controlled_shutdown,
        )
        return Decision(records, answer)

    def _records_of(self, broker: BrokerRegistration, state: ControlState) -> list[MetadataRecord]:
        if state is self.heartbeats.state(broker.id):
            return []
        match state:
            case ControlState.UNFENCED:
                return broker_changes.unfence(self.cluster, broker)
            case ControlState.CONTROLLED_SHUTDOWN:
                return broker_changes.begin_controlled_shutdown(self.cluster, broker)
            case _:
                return broker_changes.fence(self.cluster, broker)

    def change_isrs(self, request: AlterPartitionRequest) -> Decision[list[IsrChangeAnswer]]:
        """Change the ISRs of partitions, as their leader asks."""
        return change_isrs(self.cluster, request)

    def assign_directories(self, request: AssignReplicasToDirsRequest) -> Decision[list[PlacementAnswer]]:
        """Note in which of its directories a broker has put replicas."""
        return assign_directories(self.cluster, request)

    def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> Decision[range]:
        """Give a broker ids for producers that nobody else gets."""
        return allocate_producer_ids(self.cluster, broker_id, broker_epoch)

    # Requests of administrators

    def elect_leaders(
        self, election_type: ElectionType, partitions: Sequence[TopicPartition] | None
    ) -> Decision[list[ElectionAnswer]]:
        """Hold elections for partitions, or for all (None)."""
        return elect_leaders(self.cluster, election_type, partitions)

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Decision[list[TopicAnswer]]:
        """Make topics."""
        return self._topic_maker.create(self.cluster, topics, validate_only=validate_only)

    def add_partitions(
        self, requests: Iterable[MorePartitions], *, validate_only: bool = False
    ) -> Decision[list[TopicAnswer]]:
        """Enlarge topics."""
        return self._topic_maker.add_partitions(self.cluster, requests, validate_only=validate_only)

    def delete_topics(self, topics: Iterable[str | UUID]) -> Decision[list[TopicAnswer]]:
        """Delete topics by name or by id."""
        return delete_topics(self.cluster, topics)

    def change_settings(
        self, changes: Iterable[ResourceChanges], *, validate_only: bool = False
    ) -> Decision[list[SettingsAnswer]]:
        """Change some settings of topics and brokers."""
        return change_settings(self.cluster, changes, validate_only=validate_only)

    def replace_settings(
        self, changes: Iterable[ResourceChanges], *, validate_only: bool = False
    ) -> Decision[list[SettingsAnswer]]:
        """Change settings of topics and brokers, and delete all others that they have."""
        return replace_settings(self.cluster, changes, validate_only=validate_only)

    def alter_reassignments(
        self, requests: Iterable[ReassignmentRequest], *, allow_replication_factor_change: bool = True
    ) -> Decision[list[ReassignmentAnswer]]:
        """Start and cancel reassignments."""
        allowed = allow_replication_factor_change
        return alter_reassignments(self.cluster, requests, allow_replication_factor_change=allowed)

    def list_reassignments(self, partitions: Iterable[TopicPartition] | None = None) -> list[OngoingReassignment]:
        """Return what is being reassigned, of these partitions or of all."""
        return list_reassignments(self.cluster, partitions)

    # What it does on its own

    @property
    def wake_at(self) -> int | None:
        """When `tick` has something to do, at the earliest."""
        times = (self.sessions.next_expiry, self._balance_at, self._elect_uncleanly_at)
        return min((time for time in times if time is not None), default=None)

    def tick(self, now: int) -> Decision[None] | None:
        """Return what is due, one thing at a time, so that each is seen by the next; None where nothing is."""
        stale = self.sessions.take_expired(now)
        if stale is not None:
            return self._fence_stale(stale)
        if self._balance_at is not None and now >= self._balance_at:
            decision = self.balance_leaders()
            interval = self.settings.leader_imbalance_check_interval_ms or 0
            self._balance_at = now if decision.answer else now + interval
            return Decision(decision.records, None)
        if self._elect_uncleanly_at is not None and now >= self._elect_uncleanly_at:
            decision = elect_uncleanly(self.cluster)
            interval = self.settings.unclean_leader_election_interval_ms
            self._elect_uncleanly_at = now if decision.answer else now + interval
            return Decision(decision.records, None)
        return None

    def fence_one_stale_broker(self, now: int) -> Decision[None]:
        """Fence the broker that is silent for the longest, where its session has run out."""
        stale = self.sessions.take_expired(now)
        return Decision([], None) if stale is None else self._fence_stale(stale)

    def _fence_stale(self, stale: BrokerIncarnation) -> Decision[None]:
        broker = self.cluster.image.brokers.get(stale.broker_id)
        if broker is None or broker.epoch != stale.broker_epoch:
            return Decision([], None)
        return Decision(broker_changes.fence(self.cluster, broker), None)

    def balance_leaders(self) -> Decision[bool]:
        """Bring leaderships to the preferred replicas; the answer says whether there are more."""
        percentage = self.settings.leader_imbalance_per_broker_percentage
        return balance_leaders(self.cluster, percentage=percentage)

    def elect_uncleanly(self) -> Decision[bool]:
        """Give leaders to partitions of topics that rather lose records; the answer says whether there are more."""
        return elect_uncleanly(self.cluster)
