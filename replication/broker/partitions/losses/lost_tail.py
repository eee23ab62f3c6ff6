"""What a log has lost though it is counted on: kept in a file beside the log, as a restart brings none of it back."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

from epoch.filesystem import REAL
from logstore.errors import CorruptMetadataError
from replication.metadata.partition import LeaderRecoveryState, PartitionRegistration

LOST_TAIL_MARK: Final = ".epochlog-lost-tail"
"""In the partition's directory, where Kafka does not mind it."""
_MAX_BYTES: Final = 4096
_VERSION: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTail:
    """The end of a log that others may hold, or take this replica to hold."""

    end: int
    """Up to where the log was recovered."""
    former_end: int
    leader_epoch: int
    """Of the partition, when it was lost."""
    was_recovering: bool
    """Whether it was in doubt already what the leader has (KIP-704): that is so until its first change of the ISR."""

    @classmethod
    def of(cls, directory: Path) -> Self | None:
        """Read the mark of a log; None where there is none. Raises CorruptMetadataError, and OSError."""
        path = directory / LOST_TAIL_MARK
        try:
            with open(path, "rb") as file:
                content = json.loads(file.read(_MAX_BYTES))
            is_known = content.pop("version") == _VERSION
            lost = cls(**content)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorruptMetadataError("not the mark of a lost tail", file=path, advice=_ADVICE) from error
        if not is_known:
            raise CorruptMetadataError("a mark of another version", file=path, advice=_ADVICE)
        return lost

    def keep(self, directory: Path) -> None:
        """Mark the log, durably, where it is not marked. Raises OSError."""
        path = directory / LOST_TAIL_MARK
        if not path.exists():
            REAL.write_atomically(path, json.dumps({"version": _VERSION, **asdict(self)}).encode())

    def is_counted_on(self, broker_id: int, state: PartitionRegistration) -> bool:
        """Whether records count as committed by what this broker's replica had.

        As a follower until the leader, from which it does not fetch meanwhile, has taken it out of the ISR, and the
        controller, which may elect it, out of the ELR (KIP-966). As the leader until it is elected uncleanly: any other
        election takes it for one that has them, and followers would be cut to what it has. One that was in doubt when
        the tail was lost stays so through clean elections: it says nothing of later ones.
        """
        if state.leader == broker_id:
            is_unclean = state.leader_recovery_state == LeaderRecoveryState.RECOVERING and not self.was_recovering
            return state.leader_epoch <= self.leader_epoch or not is_unclean
        return broker_id in state.isr or broker_id in state.elr


def forget_lost_tail(directory: Path) -> None:
    """Remove the mark of a log, if there is one. Raises OSError."""
    (directory / LOST_TAIL_MARK).unlink(missing_ok=True)


_ADVICE: Final = (
    "let another replica lead that has all records, and remove the file once this broker is neither in the ISR nor "
    "eligible as leader"
)
