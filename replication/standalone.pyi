# What `import replication.standalone` offers, for type checkers; the module loads each name on first use.
from replication.cluster.standalone.formatting import ensure_formatted as ensure_formatted
from replication.cluster.standalone.local_link import LocalLink as LocalLink
from replication.cluster.standalone.quorum.controller_server import ControllerServer as ControllerServer
from replication.cluster.standalone.quorum.standalone_controller import StandaloneController as StandaloneController
from replication.cluster.standalone.standalone_broker import StandaloneBroker as StandaloneBroker
from replication.cluster.standalone.static_controller import StaticController as StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata as StoredMetadata
