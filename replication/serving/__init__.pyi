# What `import replication.serving` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.serving.cluster_server import ClusterServer as ClusterServer
from replication.serving.frozen_broker import FrozenBroker as FrozenBroker
from replication.serving.frozen_broker import FrozenCopy as FrozenCopy
from replication.serving.frozen_cluster import FrozenCluster as FrozenCluster
from replication.serving.frozen_cluster import Unserved as Unserved
from replication.serving.leader_choice import LeaderChoice as LeaderChoice
