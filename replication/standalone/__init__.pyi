# What `import replication.standalone` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.standalone.local_link import LocalLink as LocalLink
from replication.standalone.quorum.controller_server import ControllerServer as ControllerServer
from replication.standalone.quorum.standalone_controller import StandaloneController as StandaloneController
from replication.standalone.standalone_broker import StandaloneBroker as StandaloneBroker
from replication.standalone.static_controller import StaticController as StaticController
from replication.standalone.stored_metadata import StoredMetadata as StoredMetadata
