"""How a broker listens, leads and follows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from logstore import TopicPartition
from replication.cluster.broker.authorization.authorizer_settings import AuthorizerSettings
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.replicas.damage.read_damages import VERIFY_INTERVAL_MS
from replication.cluster.broker.replicas.topic_settings import REPLICA_LAG_TIME_MAX_MS
from replication.wire.client.client_settings import ClientSettings
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.server_limits import ServerLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerNodeSettings:
    """How a broker listens, leads and follows."""

    listener: ListenerSettings
    """For other brokers, and clients (Kafka: inter.broker.listener.name)."""
    more_listeners: tuple[ListenerSettings, ...] = ()
    """For clients alone."""
    rack: str | None = None
    limits: ServerLimits | None = None
    topic_defaults: Mapping[str, str] = field(default_factory=dict)
    """For topics for which nothing else is set, under the names of their settings."""
    replica_lag_time_max_ms: int = REPLICA_LAG_TIME_MAX_MS
    fetch_verify_interval_ms: int = VERIFY_INTERVAL_MS
    """What consumers and followers fetch was checked, or appended, so long ago at most; 0: it is checked each time."""
    heartbeat_interval_ms: int = 2_000
    auto_create_topics: bool = False
    """Whether a topic is made once a client asks for it."""
    controlled_shutdown_seconds: float = 30.0
    registration_seconds: float = 60.0
    """How long to ask for the first registration (initial.broker.registration.timeout.ms)."""
    peers: ClientSettings = field(default_factory=ClientSettings)
    """How the other brokers' listeners of the name of `listener` are protected (security.inter.broker.protocol)."""
    fetchers: int = 1
    """Threads that follow each leader (num.replica.fetchers)."""
    compacts: bool = True
    """Whether topics with `cleanup.policy=compact` are compacted (log.cleaner.enable)."""
    coordinates_groups: bool = True
    """Whether it is the coordinator of all groups, in memory. Otherwise others are, of transactions too: who leads the
    partitions of `__consumer_offsets` and `__transaction_state`; and it answers for none (NOT_COORDINATOR). It keeps
    itself off these then: before it is unfenced they are made on other brokers, where they are not there."""
    starts_without_coordinators: bool = False
    """Whether it starts, where it coordinates nothing, though no others can: it looks for none, and makes no topics."""
    shares_groups: bool = False
    """Whether it coordinates groups, in memory, as far as it leads their partitions of `__consumer_offsets`, which is
    made for that, and other brokers do the others. It needs `coordinates_groups`."""
    groups: GroupSettings = field(default_factory=GroupSettings)
    """Of the groups that it coordinates."""
    cordoned: tuple[UUID, ...] | None = None
    """The ids of directories that get no new replicas (cordoned.log.dirs); before Kafka 4.3 in vain. None: nothing is
    said of that."""
    remakes_only_replicas: bool = True
    """Whether the only replica of a partition begins anew, empty, where its directory is none of the log.dirs any more,
    as in Kafka. Otherwise it is offline until that directory is back, or the topic deleted."""
    accepted_losses: frozenset[TopicPartition] = frozenset()
    """Partitions that the broker may lead with what it has, though its checkpoint files have said more of them: for one
    start. Otherwise it stays fenced while others count on such a replica, and keeps the only one offline."""
    authorizer: AuthorizerSettings | None = None
    """By which the cluster's access control lists are enforced; None: whoever may connect may do everything."""
    session_timeout_ms: int | None = None
    """Producers and consumers are refused once no heartbeat has been answered, but as fenced, for so long, at most the
    controller's broker.session.timeout.ms: another broker may lead by then. They are served again once it is heard, and
    has applied what the controller knew then. None: they are served on, as by Kafka's brokers, and what is acknowledged
    with acks=1 may be lost to the other leader."""
