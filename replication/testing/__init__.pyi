# What `import replication.testing` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.testing.cluster import Cluster as Cluster
from replication.testing.forgetful_disk import ForgetfulDisk as ForgetfulDisk
from replication.testing.links import CONTROLLER as CONTROLLER
from replication.testing.links import Links as Links
from replication.testing.simulated.network import NetworkFaults as NetworkFaults
from replication.testing.simulated.simulated_cluster import SimulatedCluster as SimulatedCluster
from replication.testing.simulated.simulated_producer import CLIENT as CLIENT
from replication.testing.simulated.simulated_producer import SimulatedRecord as SimulatedRecord
