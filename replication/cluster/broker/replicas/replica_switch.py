"""The end of a move between directories: the copy takes the log's place."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from logstore import Log
from replication.cluster.broker.errors import UnfinishedCopyError
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.replicas.moves.replica_move import ReplicaMove
from replication.cluster.broker.replicas.moves.replica_moves import ReplicaMoves
from replication.cluster.broker.replicas.partition_errors import PARTITION_ERRORS
from replication.cluster.broker.replicas.replica_places import ReplicaPlaces
from replication.cluster.fetcher.fetcher_manager import FetcherManager
from replication.records.metadata.image_changes import PartitionId

_log: Final = logging.getLogger(__name__)


class ReplicaSwitch:
    """Made by the thread of the replica manager."""

    def __init__(
        self,
        moves: ReplicaMoves,
        places: ReplicaPlaces,
        fetchers: FetcherManager,
        serve_again: Callable[[PartitionId, HostedPartition], None],
    ) -> None:
        """Switch nothing yet. `serve_again` is called once a partition has a log, the one or the other."""
        self._moves: Final = moves
        self._places: Final = places
        self._fetchers: Final = fetchers
        self._serve_again: Final = serve_again

    def make(self, changed: PartitionId, move: ReplicaMove, hosted: HostedPartition) -> None:
        """Go on with the copy of a move, and delete the log that it was made of; those who lead or follow go on."""
        source = hosted.log
        with self._moves.held(move) as is_wanted:
            if not is_wanted or not isinstance(source, Log):
                return
            try:
                if hosted.led is not None:
                    log = hosted.led.replace_log(partial(move.finish, source))
                else:
                    self._fetchers.forget(move.partition)
                    log = move.finish(source)
            except (*PARTITION_ERRORS, UnfinishedCopyError) as error:
                _log.error("%s stays in %s: %s", move.partition, source.directory.parent, error)
                move.is_caught_up = False
                self._serve_again(changed, hosted)
                return
            hosted.replace_log(log, str(move.target.root))
            self._moves.done(move)
        _log.info("%s lies in %s from now on", move.partition, move.target.root)
        self._serve_again(changed, hosted)
        try:
            self._places.root_of(source).delete(move.partition)
        except PARTITION_ERRORS as error:
            _log.error("%s is left, and of no use any more: %s", source.directory, error)
