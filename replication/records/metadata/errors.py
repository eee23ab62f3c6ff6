"""What can be wrong with metadata records, the logs that hold them, and the images that they give."""

from logstore.errors import LogStoreError
from replication.base.errors import ReplicationError


class MetadataError(LogStoreError, ReplicationError):
    """The base of all errors about cluster metadata. As all errors about files it names file, position and offset."""


class InvalidMetadataRecordError(MetadataError, ValueError):
    """A metadata record cannot be read, or what it should say cannot be written (Kafka: MetadataParseException)."""


class UnknownMetadataRecordError(MetadataError, NotImplementedError):
    """A record is of a type or version that a later Kafka has brought (Kafka: MetadataParseException)."""


class InvalidMetadataSnapshotError(MetadataError, ValueError):
    """A `.checkpoint` file is no whole snapshot: its header or its footer is missing or misplaced."""


class DamagedMetadataError(MetadataError, ValueError):
    """The log is damaged: what follows cannot be trusted (Kafka refuses to start on it: FatalFaultError)."""


class InvalidReplayError(MetadataError, LookupError):
    """A record changes what no record before it has made: the log has a hole, or is that of another cluster."""
