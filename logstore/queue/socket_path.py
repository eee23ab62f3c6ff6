"""The socket in a queue's directory, at which its owner is asked."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SOCKET_NAME: Final = "owner.socket"
_OWN_DESCRIPTORS: Final = Path("/proc/self/fd")
_MOST_BYTES: Final = 100
"""Of an address; systems allow some more."""


def listen(directory: Path) -> socket.socket:
    """Return a socket that clients reach, in the place of one whose owner is gone. Raises OSError."""
    remove(directory)
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(listener.fileno(), 0o600)  # nobody else may write the files either
        with _address(directory) as address:
            listener.bind(address)
        listener.listen(socket.SOMAXCONN)
    except BaseException:
        listener.close()
        raise
    return listener


def connect(directory: Path) -> socket.socket:
    """Return a connection to the owner. Raises ConnectionRefusedError and FileNotFoundError where there is none."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        with _address(directory) as address:
            connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def remove(directory: Path) -> None:
    """Remove the socket: for the owner alone. Raises OSError."""
    (directory / SOCKET_NAME).unlink(missing_ok=True)


@contextmanager
def _address(directory: Path) -> Iterator[str]:
    """Give the socket's path; by way of a descriptor of its directory where it is longer than an address may be."""
    path = str(directory / SOCKET_NAME)
    if len(os.fsencode(path)) <= _MOST_BYTES or not _OWN_DESCRIPTORS.is_dir():
        yield path
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"{_OWN_DESCRIPTORS}/{descriptor}/{SOCKET_NAME}"
    finally:
        os.close(descriptor)
