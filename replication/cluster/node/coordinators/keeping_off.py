"""How a broker that coordinates nothing keeps itself off the topics of coordinators."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any, Final, NamedTuple

from replication.base.errors import ReplicationError
from replication.cluster.broker.events.coordinator_replicas import CoordinatorReplicas
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.trouble import Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.broker.lifecycle.controller_channel import Channel
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.node.coordinators.coordinator_moves import coordinator_moves
from replication.cluster.node.coordinators.coordinator_topic import COORDINATOR_TOPICS, CoordinatorTopic
from replication.cluster.node.coordinators.described_coordinators import DescribedCoordinators
from replication.cluster.node.coordinators.errors import NoCoordinatorError, TopicNotMadeError
from replication.cluster.node.coordinators.placed_topic import PlacedTopic
from replication.records.metadata.nodes import BrokerRegistration
from replication.wire.client.client_settings import ClientSettings
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode, code_of

_CREATE_TOPICS: Final = 19
_VERSION: Final = 7
_SECONDS: Final = 5
_PAUSE_SECONDS: Final = 0.5
_THERE: Final = frozenset({ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS})
"""Whoever else has made it: where it lies is looked at once it is in the metadata."""


class Peers(NamedTuple):
    """How other brokers are asked."""

    listener: str
    """At which of their listeners."""
    settings: ClientSettings
    """How that is protected."""


class KeepingOff:
    """Has the topics made on other brokers before this one is unfenced: later the controller may place them here.

    Who starts waits for it by `wait`; only one thread may.
    """

    def __init__(
        self,
        known: KnownCluster,
        channel: Callable[[], Channel],
        peers: Peers,
        *,
        random: Random | None = None,
        tell: Callable[[Any], object] = log_event,
    ) -> None:
        """`channel` opens the way to the controller; `random` says where placements begin."""
        self._known: Final = known
        self._channel: Final = channel
        self._peers: Final = peers
        self._random: Final = random or Random()  # noqa: S311  nobody is to be surprised
        self._tell: Final = tell
        self._trouble: Final = Trouble(TroubleKind.OTHER_BROKERS, tell=tell)
        self._again_at = 0.0
        self.failure: ReplicationError = NoCoordinatorError(known.node_id, {})
        """Why it was not done the last time."""

    def wait(self, seconds: float) -> bool:
        """Return whether it is done, after trying once more, or waiting for so many seconds until that is due."""
        now = time.monotonic()
        if now < self._again_at:
            time.sleep(min(seconds, self._again_at - now))
            return False
        try:
            is_done = self._is_done()
        except (ReplicationError, OSError) as error:
            self.failure = error if isinstance(error, ReplicationError) else ReplicationError(str(error))
            self._trouble.begin(str(error), cause=type(error).__name__)
            self._again_at = time.monotonic() + _PAUSE_SECONDS
            return False
        if is_done:
            self._trouble.end()
        return is_done

    def tell_replicas(self, bootstrap: object) -> None:
        """Report such partitions of which this broker has replicas all the same, and what moves them."""
        image, node = self._known.image(), self._known.node_id
        if not coordinator_moves(image, node, (), ()).partitions:
            return
        told = self._asked(self._others())
        planned = coordinator_moves(image, node, [each.id for each in told.coordinators], told.unfit)
        self._tell(
            CoordinatorReplicas(
                topics=tuple(dict.fromkeys(each.topic for each in planned.partitions)),
                partitions=len(planned.partitions),
                bootstrap=str(bootstrap),
                moves=planned.as_json if planned.moves else None,
            )
        )

    def _is_done(self) -> bool:
        """Create missing topics; return whether the metadata has them all. Raises why that is impossible."""
        others = self._others()
        if not others:
            raise NoCoordinatorError(self._known.node_id, {})
        missing = [each for each in COORDINATOR_TOPICS if each.name not in self._known.image().topics.by_name]
        if not missing:
            return True
        told = self._asked(others)
        if not told.coordinators:
            raise NoCoordinatorError(self._known.node_id, told.others)
        placed = self._placed(missing, told)
        if placed:
            self._make(placed)
        return not placed

    def _placed(self, missing: list[CoordinatorTopic], told: DescribedCoordinators) -> list[PlacedTopic]:
        found = (PlacedTopic.of(topic, told.coordinators, told.others, self._random) for topic in missing)
        return [each for each in found if each is not None]

    def _others(self) -> list[BrokerRegistration]:
        return [each for _, each in sorted(self._known.image().brokers.items()) if each.id != self._known.node_id]

    def _asked(self, others: list[BrokerRegistration]) -> DescribedCoordinators:
        return DescribedCoordinators.asked(others, *self._peers)

    def _make(self, topics: list[PlacedTopic]) -> None:
        """Ask the controller, as any client would. Raises TopicNotMadeError, and what keeps it from answering."""
        channel = self._channel()
        try:
            answer: Any = channel.ask(_creation(topics), _SECONDS * 1_000)
        finally:
            with suppress(ReplicationError, OSError):
                channel.close()
        for each in answer.topics:
            code = code_of(each.error_code)
            if code not in _THERE:
                raise TopicNotMadeError(each.name, code, each.error_message)


def _creation(topics: list[PlacedTopic]) -> Any:
    classes = request_classes(_CREATE_TOPICS, _VERSION)
    return classes.CreateTopicsRequest(
        topics=tuple(
            classes.CreatableTopic(
                name=topic.name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=tuple(
                    classes.CreatableReplicaAssignment(partition_index=number, broker_ids=tuple(replicas))
                    for number, replicas in enumerate(topic.replicas)
                ),
                configs=tuple(
                    classes.CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()
                ),
            )
            for topic in topics
        ),
        timeout=timedelta(seconds=_SECONDS),
        validate_only=False,
    )
