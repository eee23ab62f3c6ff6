"""What a process and its workers send each other through pipes."""

import pickle
from collections.abc import Callable
from typing import Any, BinaryIO, Final, NamedTuple

LENGTH_BYTES: Final = 8


class Call(NamedTuple):
    """What a worker is to do."""

    function: Callable[..., Any]
    """One of a module, which the worker imports."""
    arguments: tuple[Any, ...]


class Outcome(NamedTuple):
    """What came of it: `error` is what the function has raised."""

    value: Any = None
    error: Exception | None = None


def send(pipe: BinaryIO, message: object) -> None:
    """Write a message. Raises OSError where nobody reads any more."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(len(data).to_bytes(LENGTH_BYTES))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read a message. Raises EOFError where the other side has ended."""
    length = pipe.read(LENGTH_BYTES)
    data = pipe.read(int.from_bytes(length)) if len(length) == LENGTH_BYTES else b""
    if not data or len(data) < int.from_bytes(length):
        raise EOFError
    return pickle.loads(data)  # noqa: S301  the other side is this library's own process
