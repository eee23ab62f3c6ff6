"""A remote directory as pyarrow has it: a file system, and a path there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

from logstore.shown_text import shown
from logstore.text.address_secrets import redacted

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


class Place(NamedTuple):
    """Where files are asked for, over connections of its own."""

    filesystem: "FileSystem"
    path: str

    @classmethod
    def of(cls, uri: str) -> Self:
        """Open the one that a URI names. Raises OSError."""
        from pyarrow.fs import FileSystem  # noqa: PLC0415  start-up time

        with without_secrets():
            return cls(*FileSystem.from_uri(uri))

    def without_retries(self) -> Self:
        """Return the same place, asked once where pyarrow would ask S3 for six seconds."""
        if self.filesystem.type_name != "s3":
            return self
        from pyarrow.fs import AwsStandardS3RetryStrategy  # noqa: PLC0415  start-up time

        create, (options,) = self.filesystem.__reduce__()
        once = {**options, "retry_strategy": AwsStandardS3RetryStrategy(max_attempts=1)}
        return self._replace(filesystem=create(once))


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
