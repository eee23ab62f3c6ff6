"""All requests that write, of producers, administrators and coordinators."""

from collections.abc import Callable
from typing import Final

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.broker.requests.permitted_lookup import Answer, permitted_answer, with_topic
from replication.cluster.broker.requests.writing import deleted_records, given_producer_ids
from replication.cluster.broker.requests.writing.deleted_records import DeletedRecords
from replication.cluster.broker.requests.writing.given_producer_ids import GivenProducerIds, ProducerIdBlocks
from replication.cluster.broker.requests.writing.produces import Produces
from replication.cluster.broker.requests.writing.transaction_verification import NoCoordinator, TransactionVerification
from replication.cluster.broker.requests.writing.written_markers import WrittenMarkers
from replication.wire.messages import produce, write_txn_markers
from replication.wire.server.served_api import ServedApi, ServedApis

OFFERED_PRODUCE: Final = range(produce.VERSIONS.stop)
"""From 0 on, though only those from 3 on are answered: librdkafka derives from them in which format a broker has its
records (KAFKA-18659)."""


def writing_apis(
    partitions: HostedPartitions,
    cluster: KnownCluster,
    *,
    verification: TransactionVerification | None = None,
    producer_ids: ProducerIdBlocks | None = None,
    permissions: PermissionsOf = unlimited,
) -> ServedApis:
    """Return what writes to the partitions that are led here.

    `verification` reaches the coordinators of transactions; without it batches that begin one are refused. Without
    `producer_ids` InitProducerId is not among them, and there are no idempotent producers. `permissions` are what
    callers may do, as in `reading_apis`.
    """

    def permitted(operation: Operation, make: Callable[[PartitionLookup], Answer]) -> Answer:
        return permitted_answer(partitions, cluster, permissions, with_topic(operation), make)

    verified = NoCoordinator() if verification is None else verification
    produces = permitted(Operation.WRITE, lambda lookup: Produces(lookup, verified, permissions).answer)
    deletes = permitted(Operation.DELETE, lambda lookup: DeletedRecords(lookup).answer)
    markers = WrittenMarkers(PartitionLookup(partitions, cluster), permissions).answer
    apis = {
        produce.API_KEY: ServedApi(OFFERED_PRODUCE, produces),
        deleted_records.API_KEY: ServedApi(range(3), deletes),
        write_txn_markers.API_KEY: ServedApi(write_txn_markers.VERSIONS, markers),
    }
    if producer_ids is not None:
        given = GivenProducerIds(producer_ids, permissions, has_coordinators=verification is not None)
        apis[given_producer_ids.API_KEY] = ServedApi(given_producer_ids.VERSIONS, given.answer)
    return apis
