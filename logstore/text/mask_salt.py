"""The salt of masked records: from a file or the environment, where no list of processes shows it, or a random one."""

import os
from collections.abc import Mapping
from pathlib import Path
from secrets import token_bytes
from typing import Final

from epoch.base.store_error import LogStoreError

SALT_VARIABLE: Final = "EPOCHLOG_MASK_SALT"
"""The environment variable that may have the salt."""
LEAST_BYTES: Final = 16
"""Of a salt: a shorter one is found by trying all."""
_RANDOM_BYTES: Final = 32


class MaskSaltError(LogStoreError, ValueError):
    """A salt is too short to keep anybody from guessing what is masked."""


def random_salt() -> bytes:
    """Return a salt that nobody knows and no other run has."""
    return token_bytes(_RANDOM_BYTES)


def mask_salt(file: str | os.PathLike[str] | None = None, environment: Mapping[str, str] = os.environ) -> bytes:
    """Read the salt from a file, or without one from `EPOCHLOG_MASK_SALT`, or make a random one.

    Spaces and line ends around it do not count. Raises MaskSaltError for less than 16 bytes, and OSError.
    """
    if file is not None:
        return _checked(Path(file).read_bytes(), f"the file {os.fspath(file)}")
    if SALT_VARIABLE in environment:
        return _checked(environment[SALT_VARIABLE].encode(errors="surrogateescape"), f"the variable {SALT_VARIABLE}")
    return random_salt()


def _checked(salt: bytes, source: str) -> bytes:
    if len(salt.strip()) < LEAST_BYTES:
        raise MaskSaltError(
            f"{source} has a salt of {len(salt.strip())} bytes",
            advice=f"give at least {LEAST_BYTES}, such as what `openssl rand -hex 32` prints",
        )
    return salt.strip()
