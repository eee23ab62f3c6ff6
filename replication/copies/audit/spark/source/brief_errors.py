"""Errors as Spark shows them to users: our own, and the system's, without the many lines of how we came upon them.

Spark puts the traceback that ends in an error before what the error says, of the driver's planning and of tasks.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from logstore.errors import LogStoreError
from logstore.shown_text import shown
from replication.base.errors import ReplicationError, UnreadableLocationError

OURS: Final = (ReplicationError, LogStoreError)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def told_briefly(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a method raise errors as `told_errors` does."""

    @wraps(method)
    def told(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with told_errors():
            return method(*arguments, **named)

    return told


@contextmanager
def told_errors() -> Iterator[None]:
    """Raise errors of ours, and the system's about a file, without their traceback; others are faults, and keep theirs.

    The system's become an UnreadableLocationError, which says what to do.
    """
    try:
        yield
    except OURS as error:
        raise error.with_traceback(None) from None
    except OSError as error:
        if error.filename is None or error.errno is None:
            raise
        place = shown(os.fsdecode(error.filename))
        raise UnreadableLocationError(place, error).with_traceback(None) from None
