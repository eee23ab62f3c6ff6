# What `import replication.operations` offers, for type checkers; the module loads each name on first use.
from replication.cluster.operations.cluster_reader import read_cluster as read_cluster
from replication.cluster.operations.cluster_view import BrokerView as BrokerView
from replication.cluster.operations.cluster_view import ClusterView as ClusterView
from replication.cluster.operations.described_state import described_state as described_state
from replication.cluster.operations.election_forecast import ElectionForecast as ElectionForecast
from replication.cluster.operations.election_forecast import forecast as forecast
from replication.cluster.operations.partition_view import PartitionView as PartitionView
from replication.wire.addresses import Address as Address
from replication.wire.messages.elect_leaders import ElectionType as ElectionType
