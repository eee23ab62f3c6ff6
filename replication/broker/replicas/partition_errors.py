"""What keeps one partition from being served, and no other."""

from typing import Final

from logstore import LogStoreError
from replication.broker.errors import LostTailError, OtherTopicError

PARTITION_ERRORS: Final = (LogStoreError, LostTailError, OtherTopicError, OSError)
