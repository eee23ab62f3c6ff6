"""Who has a vote in the quorum whose metadata lies in a directory, as that says itself."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from logstore.batch.batches import read_batches
from logstore.files.quorum_state import QUORUM_STATE_NAME, QuorumState
from logstore.log.log import Log
from replication.metadata.control_messages import decode_control
from replication.metadata.records.control import ControlMessage, LeaderChange, Voters
from replication.standalone.errors import UnknownVotersError
from replication.standalone.stored_metadata import StoredMetadata

_READ_BYTES = 8 << 20


class KnownVoters(NamedTuple):
    """The voters by node ids; none of a directory in which no quorum has said anything yet."""

    node_ids: tuple[int, ...] = ()
    is_in_settings: bool = False
    """Whether the nodes' settings name them, as before KIP-853: log and `quorum-state` follow, and do not decide."""


def known_voters(metadata: StoredMetadata) -> KnownVoters:
    """Read them from snapshot and log, or from `quorum-state` where what those said is cut off by now.

    Raises UnknownVotersError where it is, and nothing else says it; MetadataError, LogStoreError, and OSError.
    """
    snapshot = metadata.snapshot
    in_snapshot: Iterable[ControlMessage] = () if snapshot is None else snapshot.control_messages()
    known = KnownVoters()
    for message in chain(in_snapshot, _messages(metadata.log)):
        if isinstance(message, Voters):
            known = KnownVoters(tuple(each.voter_id for each in message.voters))
        elif isinstance(message, LeaderChange) and (known.is_in_settings or not known.node_ids):
            known = KnownVoters(tuple(each.voter_id for each in message.voters), is_in_settings=True)
    log = metadata.log
    if not known.node_ids:
        known = KnownVoters(_remembered(log.directory / QUORUM_STATE_NAME), is_in_settings=True)
    if known.node_ids:
        return known
    if log.log_start_offset > 0:
        raise UnknownVotersError(log.directory)
    return KnownVoters()  # each quorum of Kafka's begins its log with an election


def _remembered(path: Path) -> tuple[int, ...]:
    return QuorumState.read(path).current_voters if path.exists() else ()


def _messages(log: Log) -> Iterator[ControlMessage]:
    offset = log.log_start_offset
    while view := log.read(offset, _READ_BYTES):
        for batch in read_batches(view.data):
            if batch.is_control:
                yield from filter(None, map(decode_control, batch.records()))
            offset = batch.last_offset + 1
