# What `import replication.authorization` offers, for type checkers; the module loads each name on first use.
from replication.cluster.broker.authorization.authorizer import Authorizer as Authorizer
from replication.cluster.broker.authorization.authorizer_settings import AuthorizerSettings as AuthorizerSettings
from replication.cluster.broker.authorization.operation import Operation as Operation
from replication.cluster.broker.authorization.resource_type import ResourceType as ResourceType
from replication.records.metadata.loading import load_image as load_image
from replication.wire.server.call import Caller as Caller
