"""All requests that only read, of consumers, followers and administrators."""

from collections.abc import Callable, Iterable, Sequence

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.partitions.future_replica import FutureReplica
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.requests import log_dirs
from replication.cluster.broker.requests.cluster import described_quotas, described_users
from replication.cluster.broker.requests.cluster.described_brokers import DescribedBrokers
from replication.cluster.broker.requests.cluster.described_quotas import DescribedQuotas
from replication.cluster.broker.requests.cluster.described_settings import DescribedSettings, Ineffective, all_effective
from replication.cluster.broker.requests.cluster.described_topics import CreateTopics, DescribedTopics
from replication.cluster.broker.requests.cluster.described_users import DescribedUsers
from replication.cluster.broker.requests.cluster.topic_pages import TopicPages
from replication.cluster.broker.requests.epoch_ends import EpochEnds
from replication.cluster.broker.requests.fetch.fetch_session_cache import FetchSessionCache
from replication.cluster.broker.requests.fetch.fetch_terms import MAX_BYTES
from replication.cluster.broker.requests.fetch.fetches import Fetches
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.listed_offsets import ListedOffsets
from replication.cluster.broker.requests.log_dirs import LogDirs, RootStates
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.broker.requests.partition_producers import PartitionProducers
from replication.cluster.broker.requests.permitted_lookup import (
    Answer,
    MayAsk,
    epochs_asked,
    fetched,
    permitted_answer,
    with_topic,
)
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.wire.messages import (
    describe_cluster,
    describe_configs,
    describe_producers,
    describe_topic_partitions,
    fetch,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
)
from replication.wire.server.served_api import ServedApi, ServedApis


def reading_apis(
    partitions: HostedPartitions,
    cluster: KnownCluster,
    roots: Sequence[str] = (),
    *,
    fetch_max_bytes: int = MAX_BYTES,
    create_topics: CreateTopics | None = None,
    futures: Callable[[], Iterable[FutureReplica]] = tuple,
    states: Callable[[], RootStates] = RootStates,
    permissions: PermissionsOf = unlimited,
    throttle: Throttle | None = None,
    ineffective: Ineffective = all_effective,
) -> ServedApis:
    """Return what answers from these partitions, and from what is known of the cluster.

    `roots` are its log.dirs. An answer to a fetch has no more than `fetch_max_bytes` of records, but for its first
    batch (Kafka: fetch.max.bytes); so much is held for a client that stops reading. `create_topics` makes topics that
    clients ask for and that are not there (Kafka: auto.create.topics.enable). `futures` has the copies by which
    partitions move between the roots, `states` of roots that have failed or are cordoned. `permissions` are what
    callers may do (`Authorizer.permissions`); by default everybody may do everything. `throttle` is for followers that
    are not in sync. `ineffective` says which settings of brokers make no difference to this one.
    """

    def permitted(may_ask: MayAsk, make: Callable[[PartitionLookup], Answer]) -> Answer:
        return permitted_answer(partitions, cluster, permissions, may_ask, make)

    sessions = FetchSessionCache()
    fetches = permitted(fetched, lambda lookup: Fetches(lookup, sessions, fetch_max_bytes, throttle).answer)
    listed = permitted(with_topic(Operation.DESCRIBE), lambda lookup: ListedOffsets(lookup).answer)
    ends = permitted(epochs_asked, lambda lookup: EpochEnds(lookup).answer)
    producers = permitted(with_topic(Operation.READ), lambda lookup: PartitionProducers(lookup, cluster).answer)
    topics = DescribedTopics(cluster, create_topics, permissions).answer
    settings = DescribedSettings(cluster, permissions, ineffective).answer
    directories = LogDirs(partitions, roots, permissions, futures, states).answer
    brokers = DescribedBrokers(cluster, permissions).answer
    pages = TopicPages(cluster, permissions).answer
    quotas = DescribedQuotas(cluster, permissions).answer
    users = DescribedUsers(cluster, permissions).answer
    return {
        fetch.API_KEY: ServedApi(fetch.VERSIONS, fetches),
        list_offsets.API_KEY: ServedApi(list_offsets.VERSIONS, listed),
        metadata.API_KEY: ServedApi(metadata.SERVED, topics),
        offset_for_leader_epoch.API_KEY: ServedApi(offset_for_leader_epoch.VERSIONS, ends),
        describe_configs.API_KEY: ServedApi(describe_configs.VERSIONS, settings),
        log_dirs.API_KEY: ServedApi(log_dirs.VERSIONS, directories),
        describe_cluster.API_KEY: ServedApi(describe_cluster.VERSIONS, brokers),
        describe_producers.API_KEY: ServedApi(describe_producers.VERSIONS, producers),
        describe_topic_partitions.API_KEY: ServedApi(describe_topic_partitions.VERSIONS, pages),
        described_quotas.API_KEY: ServedApi(described_quotas.VERSIONS, quotas),
        described_users.API_KEY: ServedApi(described_users.VERSIONS, users),
    }
