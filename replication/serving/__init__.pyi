# What `import replication.serving` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.serving.checking import check_copies as check_copies
from replication.serving.cluster_server import ClusterServer as ClusterServer
from replication.serving.damages import Damages as Damages
from replication.serving.frozen_broker import FrozenBroker as FrozenBroker
from replication.serving.frozen_broker import FrozenCopy as FrozenCopy
from replication.serving.frozen_cluster import FrozenCluster as FrozenCluster
from replication.serving.leader_choice import LeaderChoice as LeaderChoice
from replication.serving.unserved import Unserved as Unserved
