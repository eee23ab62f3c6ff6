"""What a store is asked for: fetched whole, again where that fails, and where nothing else decides until two agree."""

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from replication.copies.audit.snapshots.remote.patience import Patience
from replication.copies.audit.snapshots.remote.store_failure import Again, failure_of
from replication.copies.audit.snapshots.remote.traffic import TRAFFIC

T = TypeVar("T")


class GivenUpError(OSError):
    """What a store failed to do as often as it was worth asking for: whoever asked for a part need not ask again."""


ONCE: Final = 1
AGREED: Final = 2
"""How many transfers must be the same of what has no checksums."""
LOOKS: Final = 4
"""How often something is asked for at most."""
PATIENCE_SECONDS: Final = 6
"""How long what a store may yet answer is asked for."""
PAUSE_SECONDS: Final = 0.05
"""After the first failure; twice as long after each further one."""
LONGEST_PAUSE_SECONDS: Final = 1
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

    What fails is tried again as often as its kind is worth it, and as long as there is patience with its store. That
    something is not there counts once it was not there twice. Raises OSError; GivenUpError where it failed.
    """
    seen: list[T] = []
    failures: list[OSError] = []
    begun = time.monotonic()
    while len(seen) < LOOKS:
        try:
            with patience.asking():
                found = fetch(len(seen) + len(failures))
        except FileNotFoundError as error:
            if any(isinstance(failure, FileNotFoundError) for failure in failures):
                raise
            failures.append(error)
            continue
        except OSError as error:
            failures.append(error)
            try:
                _pause_after(failures, time.monotonic() - begun, patience)
            except OSError:
                if len(seen) < times:
                    raise
                break
            continue
        seen.append(found)
        if seen.count(found) < times and not is_sure(found):
            continue
        if any(each != found for each in seen):
            differed()
        return found
    raise OSError(
        f"it was another one in each of {len(seen)} transfers: wait until it is no longer written, or look into the "
        "store and the network"
    )


def _pause_after(failures: Sequence[OSError], seconds: float, patience: Patience) -> None:
    """Wait before the next attempt, or raise what the last one has come to where there is none."""
    error = failures[-1]
    if isinstance(error, GivenUpError):
        raise error
    kind = failure_of(error)
    if not patience.is_left:
        reason = "it was not asked again, as requests that failed have kept this process waiting too long"
        raise GivenUpError(f"{kind.describe(str(error))}: {reason}") from error
    if len(failures) >= kind.again.value or (
        len(failures) > 1 and seconds > PATIENCE_SECONDS and kind.again is not Again.TWICE_MORE
    ):
        raise GivenUpError(kind.describe(str(error))) from error
    pause = min(PAUSE_SECONDS * 2 ** (len(failures) - 1), LONGEST_PAUSE_SECONDS)
    time.sleep(pause)
    patience.waited(pause)


def block(file: RemoteFile, position: int, size: int) -> memoryview:
    """Read so many bytes of a file, which it has. Raises OSError where the store's answer ends before.

    Of such an answer pyarrow says that it is whole, and leaves the rest of the buffer as it was: in one of pyarrow's
    own that is whatever stood in memory, such as the request with what is secret in it.
    """
    found = []
    for fill in _FILLS:
        buffer = bytearray(bytes([fill])) * size
        file.seek(position)
        TRAFFIC.add(requests=1, size=size)
        if file.readinto(buffer) == size and buffer[-1:] != bytes([fill]):
            return memoryview(buffer)
        found.append(buffer)
    if found[0] != found[1]:
        raise OSError(f"an answer of the store ends early, with less than {size:,} bytes from byte {position:,} on")
    return memoryview(found[0])
