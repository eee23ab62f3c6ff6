"""Who has a vote in the quorum whose metadata lies in a directory, as that says itself."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from logstore.batch.batches import read_batches
from logstore.files.quorum_state import QUORUM_STATE_NAME, QuorumState
from logstore.log.log import Log
from logstore.offline.live.read_only_log import ReadOnlyLog
from replication.base.metadata_partition import METADATA_PARTITION
from replication.cluster.standalone.errors import OtherVotersError, UnknownVotersError
from replication.cluster.standalone.formatting import is_new, owner_of
from replication.records.metadata.control_messages import decode_control
from replication.records.metadata.records.control import ControlMessage, LeaderChange, Voters
from replication.records.metadata.snapshot import MetadataSnapshot

_READ_BYTES = 8 << 20


class KnownVoters(NamedTuple):
    """The voters by node ids; none of a directory in which no quorum has said anything yet."""

    node_ids: tuple[int, ...] = ()
    is_in_settings: bool = False
    """Whether the nodes' settings name them, as before KIP-853: log and `quorum-state` follow, and do not decide."""

    @property
    def are_in_log(self) -> bool:
        """Whether the log names them (KIP-853), and with it each snapshot."""
        return bool(self.node_ids) and not self.is_in_settings


def ensure_sole_voter(root: Path, node_id: int | None = None) -> KnownVoters:
    """Return who has a vote by a log.dirs root: nobody but the node that it belongs to, or nobody yet.

    Raises OtherVotersError where others have, OtherNodeError for a root of another node than is given,
    NotFormattedError, and what `known_voters` raises.
    """
    if is_new(root):
        return KnownVoters()
    owner, voters = owner_of(root, node_id), known_voters(root)
    if not {owner.node_id}.issuperset(voters.node_ids):
        raise OtherVotersError(root, voters.node_ids, owner.node_id)
    return voters


def known_voters(root: Path) -> KnownVoters:
    """Read them from snapshot and log in a log.dirs root, or from `quorum-state` where what those said is cut off.

    Nothing is opened for writing. Raises UnknownVotersError where it is cut off, and nothing else says it;
    MetadataError, LogStoreError, and OSError.
    """
    directory = root / str(METADATA_PARTITION)
    if not directory.exists():
        return KnownVoters()
    snapshots = MetadataSnapshot.all_in(directory)
    in_snapshot: Iterable[ControlMessage] = snapshots[-1].control_messages() if snapshots else ()
    with Log.reader(directory) as log:
        known = _said(chain(in_snapshot, _messages(log)))
        if not known.node_ids:
            known = KnownVoters(_remembered(directory / QUORUM_STATE_NAME), is_in_settings=True)
        if known.node_ids:
            return known
        if log.log_start_offset > 0:
            raise UnknownVotersError(directory)
    return KnownVoters()  # each quorum of Kafka's begins its log with an election


def _said(messages: Iterable[ControlMessage]) -> KnownVoters:
    known = KnownVoters()
    for message in messages:
        if isinstance(message, Voters):
            known = KnownVoters(tuple(each.voter_id for each in message.voters))
        elif isinstance(message, LeaderChange) and (known.is_in_settings or not known.node_ids):
            known = KnownVoters(tuple(each.voter_id for each in message.voters), is_in_settings=True)
    return known


def _remembered(path: Path) -> tuple[int, ...]:
    return QuorumState.read(path).current_voters if path.exists() else ()


def _messages(log: ReadOnlyLog) -> Iterator[ControlMessage]:
    offset = log.log_start_offset
    while view := log.read(offset, _READ_BYTES):
        for batch in read_batches(view.data):
            if batch.is_control:
                yield from filter(None, map(decode_control, batch.records()))
            offset = batch.last_offset + 1
