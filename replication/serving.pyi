# What `import replication.serving` offers, for type checkers; the module loads each name on first use.
from replication.cluster.serving.checking import check_copies as check_copies
from replication.cluster.serving.cluster_server import ClusterServer as ClusterServer
from replication.cluster.serving.damages import Damages as Damages
from replication.cluster.serving.frozen_broker import FrozenBroker as FrozenBroker
from replication.cluster.serving.frozen_broker import FrozenCopy as FrozenCopy
from replication.cluster.serving.frozen_cluster import FrozenCluster as FrozenCluster
from replication.cluster.serving.leader_choice import LeaderChoice as LeaderChoice
from replication.cluster.serving.unserved import Unserved as Unserved
