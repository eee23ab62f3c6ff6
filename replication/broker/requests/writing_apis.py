"""All requests that write, of producers, administrators and coordinators."""

from replication.broker.partitions.hosted_partitions import HostedPartitions
from replication.broker.requests.known_cluster import KnownCluster
from replication.broker.requests.partition_lookup import PartitionLookup
from replication.broker.requests.writing.produces import Produces
from replication.broker.requests.writing.transaction_verification import NoCoordinator, TransactionVerification
from replication.broker.requests.writing.written_markers import WrittenMarkers
from replication.protocol.messages import produce, write_txn_markers
from replication.server.served_api import ServedApi, ServedApis

OFFERED_PRODUCE = range(produce.VERSIONS.stop)
"""From 0 on, though only those from 3 on are answered: librdkafka tells from them in which format a broker has its
records (KAFKA-18659)."""


def writing_apis(
    partitions: HostedPartitions, cluster: KnownCluster, *, verification: TransactionVerification | None = None
) -> ServedApis:
    """Return what writes to the partitions that are led here.

    `verification` reaches the coordinators of transactions; without it batches that begin one are refused.
    """
    lookup = PartitionLookup(partitions, cluster)
    produces = Produces(lookup, NoCoordinator() if verification is None else verification)
    return {
        produce.API_KEY: ServedApi(OFFERED_PRODUCE, produces.answer),
        write_txn_markers.API_KEY: ServedApi(write_txn_markers.VERSIONS, WrittenMarkers(lookup).answer),
    }
