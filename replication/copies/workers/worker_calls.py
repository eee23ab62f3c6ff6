"""What a process and its workers send each other through pipes."""

import io
import pickle
from collections.abc import Callable
from types import FunctionType
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
    packed = io.BytesIO()
    _Pickler(packed, pickle.HIGHEST_PROTOCOL).dump(message)
    data = packed.getbuffer()
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


class _Pickler(pickle.Pickler):
    """Takes errors as they are: pickle would make them anew from their message, where many are made of other things."""

    def reducer_override(self, value: Any) -> Any:
        """Return how to recreate an error of this project."""
        is_ours = isinstance(value, Exception) and isinstance(type(value).__init__, FunctionType)
        if not is_ours or isinstance(value, OSError):
            return NotImplemented
        return _made_again, (type(value), value.args), vars(value)


def _made_again(kind: type[Exception], arguments: tuple[Any, ...]) -> Exception:
    return kind.__new__(kind, *arguments)
