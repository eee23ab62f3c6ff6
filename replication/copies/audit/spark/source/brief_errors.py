"""Errors as Spark shows them to users: our own, and the system's, without the many lines of how we came upon them.

Spark puts the traceback that ends in an error before what the error says, of the driver's planning and of tasks.
"""

import os
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from logstore.errors import LogStoreError
from logstore.shown_text import shown
from replication.base.errors import ReplicationError, UnreadableLocationError

OURS: Final = (ReplicationError, LogStoreError)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def told_briefly(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a method raise errors as `brief` gives them. Others are faults, and keep their traceback."""

    @wraps(method)
    def told(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            return method(*arguments, **named)
        except (*OURS, OSError) as error:
            raise brief(error) from None

    return told


def brief(error: Exception) -> Exception:
    """Return an error of ours, or the system's about a file, without its traceback; another one as it is.

    The system's become an UnreadableLocationError, which says what to do.
    """
    if isinstance(error, OURS):
        return error.with_traceback(None)
    if not isinstance(error, OSError) or error.filename is None or error.errno is None:
        return error
    return UnreadableLocationError(shown(os.fsdecode(error.filename)), error)
