"""What keeps one partition from being served, and no other."""

from typing import Final

from logstore import LogStoreError
from replication.cluster.broker.errors import LostReplicaError, LostTailError, OtherTopicError, ShortReplicaError

PARTITION_ERRORS: Final = (
    LogStoreError,
    LostReplicaError,
    LostTailError,
    OtherTopicError,
    ShortReplicaError,
    OSError,
)
