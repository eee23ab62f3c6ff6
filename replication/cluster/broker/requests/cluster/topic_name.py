"""Which names topics may have, and which of them are the brokers' own (Kafka: Topic)."""

import re
from typing import Final

from replication.wire.error_code import ErrorCode

INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def missing_topic(name: str) -> ErrorCode:
    """Return why there is no topic of a name: nobody has made it, or nobody can."""
    is_legal = _LEGAL.fullmatch(name) is not None and name not in {".", ".."}
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal else ErrorCode.INVALID_TOPIC_EXCEPTION
