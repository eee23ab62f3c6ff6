"""What a store is asked for: fetched whole, again where that fails, and where nothing else decides until two agree."""

import time
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from replication.copies.audit.snapshots.remote.patience import Patience

T = TypeVar("T")

ONCE: Final = 1
AGREED: Final = 2
"""How many transfers must be the same of what has no checksums."""
LOOKS: Final = 4
"""How often something is asked for at most."""
PATIENCE_SECONDS: Final = 5
"""How long what fails is tried a third time: pyarrow tries connections that break for six seconds by itself."""
PAUSE_SECONDS: Final = 0.05
"""After the first failure; twice as long after each further one."""
_FILLS: Final = (0xA5, 0x5A)


class RemoteFile(Protocol):
    """What is asked of pyarrow's files."""

    def size(self) -> int:
        """Return its length in bytes, by what the store says."""

    def seek(self, position: int) -> object:
        """Go to a place in it."""

    def readinto(self, buffer: bytearray) -> int:
        """Fill the buffer from there on, and return how many bytes that were, by what the store says."""


def fetched(
    fetch: Callable[[int], T],
    times: int,
    patience: Patience,
    differed: Callable[[], object] = lambda: None,
    is_sure: Callable[[T], bool] = lambda _found: False,
) -> T:
    """Call `fetch` with 0, 1, ... until so many results are the same; `differed` is called where others were not.

    One that `is_sure` is enough by itself.

    What fails is tried again as long as there is patience with its store. That something is not there counts once it
    was not there twice. Raises OSError.
    """
    seen: list[T] = []
    failures: list[OSError] = []
    begun = time.monotonic()
    for look in range(LOOKS):
        if len(failures) > 1 and time.monotonic() - begun > PATIENCE_SECONDS:
            break
        try:
            with patience.asking():
                found = fetch(look)
        except FileNotFoundError as error:
            if any(isinstance(failure, FileNotFoundError) for failure in failures):
                raise
            failures.append(error)
            continue
        except OSError as error:
            if not patience.is_left:
                reason = "it was not asked again, as requests that failed have kept this process waiting too long"
                answer = str(error).rstrip(": ")  # pyarrow's ends so where the store's is empty
                raise OSError(f"{answer}: {reason}" if answer else reason) from error
            pause = PAUSE_SECONDS * 2 ** len(failures)
            time.sleep(pause)
            patience.waited(pause)
            failures.append(error)
            continue
        seen.append(found)
        if seen.count(found) < times and not is_sure(found):
            continue
        if any(each != found for each in seen):
            differed()
        return found
    if failures and len(seen) < times:
        raise failures[-1]
    raise OSError(
        f"it was another one in each of {len(seen)} transfers: wait until it is no longer written, or look into the "
        "store and the network"
    )


def block(file: RemoteFile, position: int, size: int) -> memoryview:
    """Read so many bytes of a file, which it has. Raises OSError where the store's answer ends before.

    Of such an answer pyarrow says that it is whole, and leaves the rest of the buffer as it was: in one of pyarrow's
    own that is whatever stood in memory, such as the request with what is secret in it.
    """
    found = []
    for fill in _FILLS:
        buffer = bytearray(bytes([fill])) * size
        file.seek(position)
        if file.readinto(buffer) == size and buffer[-1:] != bytes([fill]):
            return memoryview(buffer)
        found.append(buffer)
    if found[0] != found[1]:
        raise OSError(f"an answer of the store ends early, with less than {size:,} bytes from byte {position:,} on")
    return memoryview(found[0])
