"""The logs of a root that have less than its checkpoint files say, until somebody settles what becomes of them."""

import os
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.directory.state.directory_environment import DirectoryEnvironment
from logstore.directory.state.partitions import Partitions
from logstore.errors import DamagedLogError
from logstore.files.broker.kept_claims import Claims, keep_claims, read_claims
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.topic_partition import METADATA_TOPIC, TopicPartition, is_partition_directory_name, parse_directory_name


class Shortfalls:
    """Finds them as the root is opened, and keeps what was said of them, so that it is known after another start."""

    def __init__(self, environment: DirectoryEnvironment, partitions: Partitions) -> None:
        """Know of none yet; see `look`."""
        self._root: Final = environment.root
        self._filesystem: Final = environment.filesystem
        self._is_replicated: Final = environment.replicated_of
        self._partitions: Final = partitions
        self._is_kept = True
        """Whether the file says what is known by now."""
        self._unopened: dict[TopicPartition, Claims] = {}
        """Of logs that cannot be opened now: what they have is not known."""
        self.found: Final[dict[TopicPartition, Shortfall]] = {}

    def look(self, said: RootCheckpoints) -> None:
        """Compare what is open, and what is not there, with what was said. Raises CorruptMetadataError, and OSError."""
        kept = read_claims(self._root)
        unreadable = {each: error for each, error in self._partitions.unreadable.items() if self._is_replicated(each)}
        damaged = {each: error for each, error in unreadable.items() if isinstance(error, DamagedLogError)}
        unopened = unreadable.keys() - damaged.keys()
        self._unopened = {each: kept[each] for each in kept if each in unopened or not self._is_replicated(each)}
        claims = {
            each: Claims.of(said.of(each)).with_earlier(kept.get(each))
            for each in said.partitions() | kept.keys()
            if each.topic != METADATA_TOPIC and self._is_replicated(each)
        }
        for partition, claimed in claims.items():
            log = self._partitions.logs.get(partition)
            short = None if log is None else Shortfall.of(log, claimed)
            if short is not None:
                self.found[partition] = short
        for partition, error in damaged.items():
            claimed = claims.get(partition, Claims())
            self.found[partition] = Shortfall.of_damaged(self._root / str(partition), claimed, error)
        for partition in self._missing(claims.keys()):
            short = Shortfall.of_gone(self._root / str(partition), claims[partition])
            if short is not None:
                self.found[partition] = short
            elif partition in kept:
                self.miss(partition, "an earlier start has missed it")
        # Before a checkpoint file says less.
        self._is_kept = not (self.found or kept)
        self.keep()

    def hear(self, claims: Mapping[TopicPartition, Claims]) -> None:
        """Compare with what another root says of this one. Raises OSError."""
        gone = self._missing(claims.keys())
        for partition, told in claims.items():
            known, log = self.found.get(partition), self._partitions.logs.get(partition)
            claimed = told if known is None else told.with_earlier(known.claims)
            if log is not None:
                short = Shortfall.of(log, claimed)
            elif partition in gone:
                short = Shortfall.of_gone(self._root / str(partition), claimed)
            else:
                short = known and replace(known, claims=claimed)
            if short is not None:
                self.found[partition] = short
                self._is_kept = False
        self.keep()

    def miss(self, partition: TopicPartition, evidence: str) -> None:
        """Note one that is gone with what the checkpoint files said of it; kept, as the root has such files again."""
        self.found[partition] = Shortfall.of_vanished(self._root / str(partition), evidence)
        self._is_kept = False

    def settle(self, partition: TopicPartition) -> None:
        """Forget of a partition what was said; the file does with its next writing."""
        if self.found.pop(partition, None) is not None:
            self._is_kept = False

    def keep(self) -> None:
        """Write what is known by now, where that has changed. Raises OSError."""
        if not self._is_kept:
            claims = {each: short.claims for each, short in self.found.items()}
            keep_claims(self._root, {**self._unopened, **claims}, self._filesystem)
            self._is_kept = True

    def _missing(self, partitions: AbstractSet[TopicPartition]) -> set[TopicPartition]:
        """Return those that have no directory, under whatever name: what was deleted or set aside is not gone."""
        missing = set(partitions) - self._partitions.logs.keys() - self._partitions.unreadable.keys()
        return missing.difference(self._named()) if missing else missing

    def _named(self) -> Iterator[TopicPartition]:
        with os.scandir(self._root) as entries:
            names = [entry.name for entry in entries if is_partition_directory_name(entry.name)]
        return (parse_directory_name(name).topic_partition for name in names)
