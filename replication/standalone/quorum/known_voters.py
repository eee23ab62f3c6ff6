"""Who has a vote in the quorum whose metadata lies in a directory, as that says itself."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from logstore.batch.batches import read_batches
from logstore.log.log import Log
from replication.metadata.control_messages import decode_control
from replication.metadata.records.control import ControlMessage, LeaderChange, Voters
from replication.standalone.stored_metadata import StoredMetadata

_READ_BYTES = 8 << 20


class KnownVoters(NamedTuple):
    """The voters by node ids; none of a directory in which no quorum has said anything yet."""

    node_ids: tuple[int, ...] = ()
    is_in_settings: bool = False
    """Whether the nodes' settings name them, as before KIP-853: the log follows, and does not decide."""


def known_voters(metadata: StoredMetadata) -> KnownVoters:
    """Read them from snapshot and log. Raises MetadataError, LogStoreError, and OSError."""
    snapshot = metadata.snapshot
    in_snapshot: Iterable[ControlMessage] = () if snapshot is None else snapshot.control_messages()
    known = KnownVoters()
    for message in chain(in_snapshot, _messages(metadata.log)):
        if isinstance(message, Voters):
            known = KnownVoters(tuple(each.voter_id for each in message.voters))
        elif isinstance(message, LeaderChange) and (known.is_in_settings or not known.node_ids):
            known = KnownVoters(tuple(each.voter_id for each in message.voters), is_in_settings=True)
    return known


def _messages(log: Log) -> Iterator[ControlMessage]:
    offset = log.log_start_offset
    while view := log.read(offset, _READ_BYTES):
        for batch in read_batches(view.data):
            if batch.is_control:
                yield from filter(None, map(decode_control, batch.records()))
            offset = batch.last_offset + 1
