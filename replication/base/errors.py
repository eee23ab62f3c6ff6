"""Errors about several replicas: comparing them, and following leaders."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Final, Self
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from logstore.shown_text import shown
from logstore.text.address_secrets import redacted
from logstore.topic_partition import TopicPartition

_NAMED: Final = 10
"""Names in one message."""

_QUOTED: Final = 200
"""Characters of what a user gave, in one message."""

_MOST_LINES: Final = 20
"""Of what is wrong, in one message."""


class ReplicationError(Exception):
    """The base class of all errors of `replication`."""

    def __str__(self) -> str:
        return redacted(super().__str__())


class NothingInCommonError(ReplicationError, ValueError):
    """The given replicas have no partition in common."""

    def __init__(self, names: list[str], unread: Sequence[str] = ()) -> None:
        """Create it with the replicas' names, and what of them could not be read, with the reasons."""
        one = f"{', '.join(names)} cannot be compared with anything; name at least two: "
        several = f"{', '.join(names)}: no two of them hold the same partition; name "
        alone = "" if len(names) > 1 else ". `epochlog verify` checks one copy by itself"
        super().__init__(
            f"{several if len(names) > 1 else one}log.dirs roots of one cluster, or directories of one partition"
            f"{alone}{_not_read(unread)}"
        )


class NothingChosenError(ReplicationError, LookupError):
    """No partition matches the requested topics, names or sample."""

    def __init__(
        self,
        topics: Sequence[str],
        held: Collection[str],
        *,
        partitions: Sequence[str] = (),
        replicas: Sequence[str] = (),
        copies: Collection[str] = (),
        sample: float = 1.0,
    ) -> None:
        """`held` are the topics that exist, and `copies` the replicas, where replicas were asked for."""
        asked = f" of the topics {_listed(topics)}" if topics else ""
        named = f" called {_listed(partitions)}" if partitions else ""
        there = f" on the replicas {_listed(replicas)}" if replicas else ""
        share = f" in a sample of {sample}" if sample < 1 else ""
        known = _listed(sorted(held))
        names = f", and the replicas are {_listed(sorted(copies))}" if replicas else ""
        super().__init__(
            f"there is no partition{asked}{named}{there}{share}; the snapshots hold the topics {known}{names}"
        )


class SameReplicaError(ReplicationError, ValueError):
    """A directory was given twice, where replicas are to be compared."""

    def __init__(self, first: str | PathLike[str], second: str | PathLike[str]) -> None:
        super().__init__(
            f"{fspath(first)} and {fspath(second)} are the same replica; name the directories of different brokers"
        )


class TopicIdsDifferError(ReplicationError, ValueError):
    """Replicas hold different topics of the same name (Kafka: InconsistentTopicIdException)."""

    def __init__(self, topic_ids: Mapping[str, UUID]) -> None:
        """Create it with the topic id of each replica."""
        told = ", ".join(f"{format_uuid(topic_id)} on {replica}" for replica, topic_id in topic_ids.items())
        super().__init__(
            f"not one topic but two of the same name, by the ids in partition.metadata: {told}; the topic was deleted "
            "and created again, so leave out the replicas that still hold the old one"
        )


class PartitionVanishedError(ReplicationError, LookupError):
    """A broker deleted or moved a partition while it was being read."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.file = fspath(path)
        super().__init__(f"{fspath(path)}: deleted or renamed while it was being read, so it is left out")


class CopyUnreadableError(ReplicationError, OSError):
    """A replica's copy of a partition could be examined, but can no longer be read: it was changed or removed."""

    def __init__(self, replica: str, partition: TopicPartition, error: OSError) -> None:
        self.replica = replica
        super().__init__(
            f"{partition} of {replica} could be examined but not read again: {error}; audit copies that no process "
            "changes or removes meanwhile"
        )


class UnknownHighWatermarkError(ReplicationError, LookupError):
    """What a follower truncates depends on its high watermark, which its root's files do not have."""

    def __init__(self, partition: TopicPartition, root: str | PathLike[str]) -> None:
        super().__init__(
            f"the high watermark is unknown, and it decides what is truncated: replication-offset-checkpoint in "
            f"{fspath(root)} is missing, unreadable or without {partition}; copy that file from the broker too"
        )


class CannotFollowError(ReplicationError, ValueError):
    """The leader of a quorum lacks so much that was committed that its follower fails, or fetches without end."""

    def __init__(self, follower: str | PathLike[str], position: object, leader: str) -> None:
        super().__init__(
            f"{fspath(follower)} has {position}, and the leader {leader}: it lacks metadata that was committed, and "
            "the controller of that directory cannot follow it; let the other lead, or move the directory away if it "
            "belongs to another cluster"
        )


class NoMetadataError(ReplicationError, LookupError):
    """A directory holds no copy of the cluster's metadata."""

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(
            f"{fspath(path)} holds no __cluster_metadata-0; a controller keeps it in its metadata.log.dir, or else in "
            "the first of its log.dirs"
        )


class NoEpochLeftError(ReplicationError, OverflowError):
    """The highest possible leader epoch is in use: no leader can be elected any more."""

    def __init__(self, epoch: int) -> None:
        super().__init__(
            f"no leader can be elected after epoch {epoch}, the highest possible; the leader-epoch-checkpoint that "
            "holds it is most likely damaged: see `epochlog epochs`"
        )


class JavaMissingError(ReplicationError, FileNotFoundError):
    """No Java that Spark can run on was found."""

    def __init__(self, rejected: Mapping[Path, str]) -> None:
        """`found` names what was found instead, and what it lacks."""
        found = "; ".join(f"{home}: {fault}" for home, fault in rejected.items())
        super().__init__(
            "Spark needs Java 17 or later, complete with the module jdk.incubator.vector, and none was found"
            f"{f' ({found})' if found else ''}; install one, such as by `apt-get install openjdk-17-jre-headless` or "
            "`brew install openjdk`, and set JAVA_HOME to it unless it is on the PATH"
        )


class NoClassArchiveError(ReplicationError, OSError):
    """No archive of Java's classes could be kept."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no archive of the classes that Spark loads could be kept: {reason}; Spark starts without it")


class HistoryError(ReplicationError, ValueError):
    """A file among those of earlier audits cannot be used."""

    def __init__(self, path: str | Path, fault: str) -> None:
        self.path = path
        super().__init__(f"{path}: {fault}; move it away, or keep the history in another directory")


class NoHistoryError(ReplicationError, ValueError):
    """An audit is to be kept in its history, and has none."""

    def __init__(self) -> None:
        super().__init__("this audit has no history to be kept in: name a directory with history=")


class WorkerDiedError(ReplicationError, RuntimeError):
    """A process that works for this one has ended in the middle of its work, each time that it was tried."""

    def __init__(self, status: int, attempts: int) -> None:
        self.status = status
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        super().__init__(
            f"a worker process {how}, the last of {attempts} that tried the same work; if memory was short, use fewer "
            "workers or smaller tasks"
        )


ACCESS_ADVICE: Final = "run as the broker's user, or grant this user access"


class UnreadableLocationError(ReplicationError, OSError):
    """A snapshot's location cannot be listed: it does not exist, or access to it is refused."""

    def __init__(self, location: str, error: Exception) -> None:
        self.file = location
        system = error.strerror if isinstance(error, OSError) else None
        advice = f"; {ACCESS_ADVICE}" if isinstance(error, PermissionError) else ""
        super().__init__(f"{location}: {system or shown(str(error)).removeprefix(f'{location}: ')}{advice}")


class NoSnapshotError(ReplicationError, ValueError):
    """The location holds no copy of a broker's log.dirs."""

    def __init__(self, location: str) -> None:
        self.file = location
        super().__init__(
            f"{location}: neither a log.dirs root nor a directory of several: it holds no directories such as orders-0 "
            "and no checkpoint files; name the directory that does"
        )


class SnapshotNameError(ReplicationError, ValueError):
    """The NAME in a `[NAME=]URI` is used twice, or could be part of a path."""

    @classmethod
    def doubled(cls, name: str, first: str, second: str) -> Self:
        """Two have the same name."""
        return cls(f"{first} and {second} are both named {name}; name each differently")

    @classmethod
    def ambiguous(cls, argument: str, name: str, rest: str) -> Self:
        """Both the whole argument and the part after the `=` are directories."""
        return cls(
            f"{argument} is a directory, but could also mean {rest} under the name {name}; write ./{argument} for the "
            f"directory, or {name}=./{rest}"
        )


class DifferentClustersError(ReplicationError, ValueError):
    """The snapshots are of brokers of different clusters."""

    def __init__(self, clusters: Mapping[str, str]) -> None:
        """Create it with the cluster.id of each snapshot."""
        told = ", ".join(f"{name} of cluster {cluster}" for name, cluster in clusters.items())
        super().__init__(
            f"snapshots of different clusters, by cluster.id in meta.properties: {told}; name one cluster's"
        )


class SameBrokerError(ReplicationError, ValueError):
    """Two snapshots are of the same broker, or have the same name."""

    def __init__(self, first: str, second: str, broker: str) -> None:
        super().__init__(
            f"{first} and {second} are both {broker}; name one copy of each broker: its several log.dirs each once, or "
            "a directory that holds them"
        )


class PartitionDoubledError(ReplicationError):
    """A broker has a partition in several of its log.dirs."""


class SeveralBrokersError(ReplicationError, ValueError):
    """A directory holds the roots of several brokers instead of one."""

    def __init__(self, path: Path, brokers: Sequence[str]) -> None:
        self.path = path
        super().__init__(
            f"{path}: holds log.dirs roots of several brokers, {_listed(brokers)}; name each broker's root separately"
        )


_DOUBLED_SHOWN = 3
"""Partitions in several log.dirs of which an error says what to do."""


class SeveralRootsError(ReplicationError, ValueError):
    """A directory holds several log.dirs roots, where one is to be changed."""

    def __init__(self, path: Path, roots: Sequence[str], doubled: Sequence[str] = ()) -> None:
        """Create it with the roots in the path, and descriptions of partitions that several of them hold."""
        self.path = path
        holds = f"{path}: holds several log.dirs roots, {_listed(roots)}; name the one that is to be changed"
        more = len(doubled) - _DOUBLED_SHOWN
        further = [f"{more} more partitions are in several of them: epochlog verify {path} names them"] * (more > 0)
        super().__init__("; ".join((holds, *doubled[:_DOUBLED_SHOWN], *further)))


class UnknownOptionError(ReplicationError, ValueError):
    """The `kafka-log` format has no such option."""

    def __init__(self, option: str, known: Iterable[str], instead: str | None = None) -> None:
        advice = f"{instead}; " if instead else ""
        super().__init__(f"kafka-log has no option {_brief(shown(option))}; {advice}allowed: {', '.join(known)}")


class NotAllowedError(ReplicationError, ValueError):
    """An argument, or an option of the `kafka-log` format, has a value that is not allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} cannot be {_brief(repr(value))}; allowed: {allowed}")


class SnapshotChangedError(ReplicationError, OSError):
    """A file of a snapshot was changed while it was read."""

    def __init__(self, path: str | PathLike[str], how: str) -> None:
        self.file = fspath(path)
        super().__init__(f"{fspath(path)}: {how} since it was listed; load it again, or a copy that no process changes")


class DataLossError(ReplicationError, OSError):
    """A copy lacks offsets that are asked for, or has some of them twice."""

    def __init__(self, what: str, path: str | PathLike[str], position: int) -> None:
        self.file = fspath(path)
        self.position = position
        super().__init__(
            f"{self.file}, position {position}: {what}; read another replica of the partition, or what is there with "
            "the option failOnDataLoss=false"
        )


class LogTruncatedError(ReplicationError, OSError):
    """A read is to go on where an earlier one ended, and the log no longer has what stood there."""

    def __init__(self, partition: TopicPartition, path: str | PathLike[str], message: str) -> None:
        self.partition = partition
        self.file = fspath(path)
        super().__init__(f"{self.file}: {message}")

    @classmethod
    def cut(
        cls,
        partition: TopicPartition,
        path: str | PathLike[str],
        read: tuple[int, int],
        cut: int,
        *,
        is_certain: bool,
    ) -> Self:
        """Create it where records below an offset, the last of a leader epoch, are cut off from `cut` on at least."""
        offset, leader_epoch = read
        what = f"was read up to offset {offset}, and its records {cut}..{offset - 1} are cut off now"
        # An unclean election cuts off what was acknowledged, too.
        aside = "aside, as they may be the last copy of what was acknowledged"
        if is_certain:
            advice = f"set their rows {aside}, and read on with startingOffsets of {_offsets_json(partition, cut)}"
        else:
            what += f", perhaps more: the log has nothing of leader epoch {leader_epoch} any more, which wrote the last"
            advice = (
                f"find the rows that it lacks with replication.audit.reconcile and set them {aside}, before you read "
                "it from its beginning"
            )
        return cls(partition, path, f"{partition} {what}; {advice}")

    @classmethod
    def below(cls, partition: TopicPartition, path: str | PathLike[str], offset: int, begin: int) -> Self:
        """Create it where the log begins behind where the read is to go on."""
        return cls(
            partition,
            path,
            f"{partition} was read up to offset {offset}, and the log begins at {begin} now: offsets {offset}.."
            f"{begin - 1} are gone; read another replica, or do without them with startingOffsets of "
            f"{_offsets_json(partition, begin)}",
        )

    @classmethod
    def recreated(cls, partition: TopicPartition, path: str | PathLike[str], offset: int, begin: int) -> Self:
        """Create it where the log is of another topic of the same name."""
        return cls(
            partition,
            path,
            f"{partition} was read up to offset {offset}, and its topic was deleted since and created again, with "
            "other records at the same offsets; keep the rows of both apart, and read the new one with startingOffsets "
            f"of {_offsets_json(partition, begin)}",
        )


def _offsets_json(partition: TopicPartition, offset: int) -> str:
    return json.dumps({partition.topic: {str(partition.partition): offset}})


class LiveAuditError(ReplicationError, RuntimeError):
    """A table that reads copies again was asked of an audit of running brokers."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f"an audit with live=True has no {table}: what would be read again has moved on; audit a snapshot"
        )


class MissingBrokersError(ReplicationError, LookupError):
    """Brokers whose snapshots were expected are not among those that were named."""

    def __init__(self, brokers: Sequence[str], named: Sequence[str], unread: Sequence[str] = ()) -> None:
        """Create it with the names of both, and what of the latter could not be read, with the reasons."""
        self.brokers = tuple(brokers)
        super().__init__(
            f"no snapshot of broker {', '.join(brokers)}; there are {', '.join(named)}: name them all"
            f"{_not_read(unread)}"
        )


class AuditNotCleanError(ReplicationError, AssertionError):
    """An audit has found what was not allowed."""

    def __init__(self, lost: Sequence[str], partitions: Sequence[str]) -> None:
        """Create it with the lines about lost records, and those about partitions."""
        self.lost = tuple(lost)
        self.partitions = tuple(partitions)
        lines = [*lost, *partitions]
        more = [f"and {len(lines) - _MOST_LINES:,} more"] if len(lines) > _MOST_LINES else []
        told = "\n  ".join([*lines[:_MOST_LINES], *more])
        super().__init__(
            f"{len(partitions):,} partitions have verdicts that are not allowed, {len(lost):,} findings are critical; "
            f"docs/findings.md says what to do about each:\n  {told}"
        )


class StreamingNotSupportedError(ReplicationError, NotImplementedError):
    """`kafka-log` is read as a batch: files do not show which of their last records will stay."""

    def __init__(self) -> None:
        super().__init__(
            "kafka-log cannot be read as a stream: a broker may still truncate what its files end with; read it with "
            'spark.read, or follow the broker itself with spark.readStream.format("kafka")'
        )


class ReadOnlyError(ReplicationError, NotImplementedError):
    """`kafka-log` only reads: what brokers' logs hold is written by brokers."""

    def __init__(self) -> None:
        super().__init__(
            "kafka-log only reads; write to a table of Spark's, or to the brokers themselves with the format kafka"
        )


class WrongTypeError(ReplicationError, TypeError):
    """An argument has the wrong type."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} cannot be {type(value).__name__} {value!r:.200}; allowed: {allowed}")


def _not_read(reasons: Sequence[str]) -> str:
    return f"; not read: {'; '.join(reasons)}" if reasons else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(_brief(shown(name)) for name in names[:_NAMED])}{more}"


def _brief(text: str) -> str:
    """Quote the beginning of what is too long to be read."""
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}... ({len(text):,} characters)"
