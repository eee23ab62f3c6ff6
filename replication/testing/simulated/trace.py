"""What has happened in a simulated cluster, in words, and a digest of all of it."""

from collections import deque
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

from replication.cluster.node.metadata_feed import MetadataNews
from replication.wire.messages.fetch import FetchRequest, FetchResponse
from replication.wire.messages.produce import ProduceRequest, ProduceResponse

_LINES: Final = 20_000


class Trace:
    """Two runs that are the same have the same digest. Only the last lines are kept."""

    def __init__(self, clock: Callable[[], int]) -> None:
        """Note the milliseconds that `clock` gives."""
        self.lines: Final[deque[str]] = deque(maxlen=_LINES)
        self.count: int = 0
        """Of all lines, the forgotten ones too."""
        self._clock: Final = clock
        self._digest: Final = blake2b(digest_size=16)

    @property
    def digest(self) -> str:
        """Of all lines."""
        return self._digest.hexdigest()

    def note(self, line: str) -> None:
        """Add what happens now."""
        told = f"{self._clock()} {line}"
        self._digest.update(told.encode())
        self.lines.append(told)
        self.count += 1


def summary(message: Any) -> str:
    """Return what matters of a request or an answer."""
    match message:
        case FetchRequest():
            asked = (
                f"{key.topic}-{key.partition} {each.fetch_offset} (epochs {each.current_leader_epoch}, "
                f"{each.last_fetched_epoch})"
                for key, each in message.partitions.items()
            )
            return f"Fetch {'; '.join(asked)}"
        case FetchResponse():
            fetched = (
                f"{key.topic}-{key.partition} {each.error.name} {len(each.records)} bytes, hw {each.high_watermark}"
                f"{f', diverges {tuple(each.diverging_epoch)}' if each.diverging_epoch else ''}"
                for key, each in message.partitions.items()
            )
            return f"Fetched {message.error.name} {'; '.join(fetched)}"
        case ProduceRequest():
            return f"Produce {', '.join(f'{key.topic}-{key.partition}' for key in message.partitions)}"
        case ProduceResponse():
            produced = (f"{key.topic}-{key.partition} {each.error.name}" for key, each in message.partitions.items())
            offsets = (str(each.base_offset) for each in message.partitions.values())
            return f"Produced {', '.join(produced)} at {', '.join(offsets)}"
        case MetadataNews():
            return f"Metadata to {message.applied_offset}"
    return str(message)
