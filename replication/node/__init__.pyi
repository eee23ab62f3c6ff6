# What `import replication.node` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.node.broker_node import BrokerNode as BrokerNode
from replication.node.broker_node_settings import BrokerNodeSettings as BrokerNodeSettings
from replication.node.network_link import NetworkLink as NetworkLink
