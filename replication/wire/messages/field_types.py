"""Types of fields that only messages have."""

from typing import Annotated, Final, get_args
from uuid import UUID

from replication.records.codec.fields import NO_ID, Int16, Uuid, converted
from replication.wire.error_code import ErrorCode, code_of

OPERATIONS_NOT_ASKED: Final = -0x80000000
"""Instead of a set of authorized operations, one bit each (Kafka: AUTHORIZED_OPERATIONS_OMITTED)."""

Error = Annotated[ErrorCode, converted(get_args(Int16)[1], code_of, int)]
OptionalUuid = Annotated[
    UUID | None, converted(get_args(Uuid)[1], lambda found: found if found.int else None, lambda found: found or NO_ID)
]
