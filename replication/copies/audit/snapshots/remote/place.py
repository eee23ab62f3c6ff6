"""A remote directory as pyarrow has it: a file system, and a path there."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from math import inf, nan
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from logstore.shown_text import shown
from logstore.text.address_secrets import redacted

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


TIMEOUTS: Final[Mapping[str, float]] = {"request_timeout": 5, "connect_timeout": 5}
"""Seconds, which the options of these names in an address change: without a byte, and without a connection."""
_GOOGLE_LIMIT: Final = "retry_limit_seconds"
"""What pyarrow calls how long Google's library tries what fails: a quarter of an hour if nothing is said."""


class Place(NamedTuple):
    """Where files are asked for, over connections of its own."""

    filesystem: "FileSystem"
    path: str

    @classmethod
    def kept(cls, uri: str, number: int) -> Self:
        """Open the one that a URI names over connections that this process keeps for its store, those of a number.

        To make a client of S3, pyarrow waits until no request of any other one is in flight. Raises OSError.
        """
        split = urlsplit(uri)
        if split.scheme != "s3":
            return cls._opened(uri)
        bucket = _kept_bucket(os.getpid(), number, urlunsplit(split._replace(path="")))
        return cls(*bucket).below(split.path)

    @classmethod
    def of(cls, uri: str) -> Self:
        """Open the one that a URI names over connections of its own. Raises OSError."""
        split = urlsplit(uri)
        if split.scheme != "s3":
            return cls._opened(uri)
        return cls._opened(urlunsplit(split._replace(path=""))).below(split.path)

    @classmethod
    def _opened(cls, uri: str) -> Self:
        """Open what a URI names, without pyarrow's own retries, which try what hangs for minutes."""
        from pyarrow.fs import FileSystem  # noqa: PLC0415  start-up time

        with without_secrets():
            timeouts, plain = _taken_out(uri)
            place = cls(*FileSystem.from_uri(plain))
        return place._asked_once(timeouts) if place.filesystem.type_name == "s3" else place

    def below(self, path: str) -> Self:
        """Return a directory of a bucket, whose path may have signs in it that pyarrow takes in no URI."""
        return self._replace(path=f"{self.path}{unquote(path).rstrip('/')}")

    def _asked_once(self, timeouts: dict[str, float]) -> Self:
        from pyarrow.fs import AwsStandardS3RetryStrategy  # noqa: PLC0415  start-up time

        create, (options,) = self.filesystem.__reduce__()
        once = AwsStandardS3RetryStrategy(max_attempts=1)
        return self._replace(filesystem=create({**options, **timeouts, "retry_strategy": once}))


@lru_cache(maxsize=64)
def _kept_bucket(_process: int, _number: int, uri: str) -> Place:
    """Open the bucket of a URI once: a forked process has none of the connections."""
    return Place.of(uri)


def _taken_out(uri: str) -> tuple[dict[str, float], str]:
    """Split what pyarrow knows no option for off a URI. Raises OSError for what is no number of seconds."""
    split = urlsplit(uri)
    if split.scheme == "gs":
        has_limit = _GOOGLE_LIMIT in dict(parse_qsl(split.query))
        limit = "" if has_limit else f"{'&' if split.query else ''}{_GOOGLE_LIMIT}={TIMEOUTS['request_timeout']}"
        return {}, urlunsplit(split._replace(query=split.query + limit))
    if split.scheme != "s3":
        return {}, uri
    kept, timeouts = [], {**TIMEOUTS}
    for part in split.query.split("&"):
        name, _, value = part.partition("=")
        if name not in TIMEOUTS:
            kept.append(part)
            continue
        try:
            timeouts[name] = float(value)
        except ValueError:
            timeouts[name] = nan
        if not 0 < timeouts[name] < inf:
            raise OSError(f"{name}={value} is no number of seconds: give one above 0, such as {name}=10")
    return timeouts, urlunsplit(split._replace(query="&".join(kept)))


@contextmanager
def without_secrets() -> Iterator[None]:
    """Remove what is secret in the address from a store's errors. Raises OSError."""
    from pyarrow import ArrowException  # noqa: PLC0415  start-up time

    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, redacted(error.strerror or str(error)), error.filename) from None
    except (OSError, ArrowException) as error:
        raise OSError(redacted(str(error))) from None
    except UnicodeDecodeError as error:  # pyarrow takes names as they come
        name = shown(os.fsdecode(error.object))
        raise OSError(f"the store answers with a name that is no UTF-8: {redacted(name)}") from None
