# What `import replication.node` offers, for type checkers; the module loads each name on first use.
from replication.cluster.node.broker_node import BrokerNode as BrokerNode
from replication.cluster.node.broker_node_settings import BrokerNodeSettings as BrokerNodeSettings
from replication.cluster.node.joining.joined_broker import JoinedBroker as JoinedBroker
from replication.cluster.node.metrics.broker_metrics import BrokerMetrics as BrokerMetrics
from replication.cluster.node.network_link import NetworkLink as NetworkLink
from replication.wire.addresses import Address as Address
from replication.wire.server.connections.listener_settings import ListenerSettings as ListenerSettings
