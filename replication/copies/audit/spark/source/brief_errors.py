"""Our own errors as Spark shows them to users: without the many lines of how we came upon them.

Spark puts the traceback that ends in an error before what the error says, of the driver's planning and of tasks.
"""

from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from logstore.errors import LogStoreError
from replication.base.errors import ReplicationError

OURS: Final = (ReplicationError, LogStoreError)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def told_briefly(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a method raise errors of ours without their traceback. Others are faults, and keep theirs."""

    @wraps(method)
    def told(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return method(*arguments, **named)
        except OURS as error:
            raise error.with_traceback(None) from None

    return told
