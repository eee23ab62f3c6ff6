"""What can keep replicas from being compared or from working together."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Final, Self
from uuid import UUID

from logstore.files.partition_metadata import format_uuid
from logstore.topic_partition import TopicPartition

_NAMED: Final = 10
"""Names in one message."""


class ReplicationError(Exception):
    """The base of all errors about more than one replica."""


class NothingInCommonError(ReplicationError, ValueError):
    """The given replicas hold no partition in common."""

    def __init__(self, names: list[str]) -> None:
        one = f"{', '.join(names)} alone can be compared with nothing; name at least two: "
        several = f"{', '.join(names)}: no two of them hold the same partition; name "
        super().__init__(
            f"{several if len(names) > 1 else one}log.dirs roots of one cluster, or directories of one partition"
        )


class NothingChosenError(ReplicationError, LookupError):
    """Of the partitions that there are, none is of the topics, named, or in the sample, that are asked for."""

    def __init__(
        self, topics: Sequence[str], held: Collection[str], *, partitions: Sequence[str] = (), sample: float = 1.0
    ) -> None:
        """Take the topics that are held."""
        asked = f" of the topics {_listed(topics)}" if topics else ""
        named = f" called {_listed(partitions)}" if partitions else ""
        share = f" in a sample of {sample}" if sample < 1 else ""
        known = _listed(sorted(held))
        super().__init__(f"there is no partition{asked}{named}{share}; the snapshots hold the topics {known}")


class SameReplicaError(ReplicationError, ValueError):
    """A directory was given twice, where replicas are to be compared."""

    def __init__(self, first: str | PathLike[str], second: str | PathLike[str]) -> None:
        super().__init__(
            f"{fspath(first)} and {fspath(second)} are the same replica; name the directories of different brokers"
        )


class TopicIdsDifferError(ReplicationError, ValueError):
    """Replicas hold topics of one name that are not the same topic (Kafka: InconsistentTopicIdException)."""

    def __init__(self, topic_ids: Mapping[str, UUID]) -> None:
        """Name the topic id by replica."""
        told = ", ".join(f"{format_uuid(topic_id)} on {replica}" for replica, topic_id in topic_ids.items())
        super().__init__(
            f"not one topic but two of the same name, by the ids in partition.metadata: {told}; the topic was deleted "
            "and created again, so leave out the replicas that still hold the old one"
        )


class PartitionVanishedError(ReplicationError, LookupError):
    """A broker deleted a partition, or moved it away, while it was read."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.file = fspath(path)
        super().__init__(f"{fspath(path)}: deleted or renamed while it was looked at, so it is left out")


class CopyUnreadableError(ReplicationError, OSError):
    """A replica's copy of a partition could be examined, but can no longer be read: it was changed or taken away."""

    def __init__(self, replica: str, partition: TopicPartition, error: OSError) -> None:
        self.replica = replica
        super().__init__(
            f"{partition} of {replica} could be examined but not be read again: {error}; audit copies that nobody "
            "changes or removes meanwhile"
        )


class UnknownHighWatermarkError(ReplicationError, LookupError):
    """What a follower truncates is up to its high watermark, which its root's files do not tell."""

    def __init__(self, partition: TopicPartition, root: str | PathLike[str]) -> None:
        super().__init__(
            f"the high watermark is unknown, and it decides what is truncated: replication-offset-checkpoint in "
            f"{fspath(root)} is missing, unreadable or without {partition}; copy that file from the broker too"
        )


class NoEpochLeftError(ReplicationError, OverflowError):
    """The highest leader epoch that there can be is taken: nobody can be elected any more."""

    def __init__(self, epoch: int) -> None:
        super().__init__(
            f"no leader can be elected after epoch {epoch}, the highest there is; the leader-epoch-checkpoint that "
            "holds it is most likely damaged: see `epochlog epochs`"
        )


class JavaMissingError(ReplicationError, FileNotFoundError):
    """There is no Java that Spark runs on."""

    def __init__(self, rejected: Mapping[Path, str]) -> None:
        """Name what was found instead, and what it lacks."""
        found = "; ".join(f"{home}: {fault}" for home, fault in rejected.items())
        super().__init__(
            "Spark needs Java 17 or later, complete with the module jdk.incubator.vector, and none was found"
            f"{f' ({found})' if found else ''}; install one, as `apt-get install openjdk-17-jre-headless` or "
            "`brew install openjdk` do, and name it in JAVA_HOME unless it is on the PATH"
        )


class HistoryError(ReplicationError, ValueError):
    """A file among those of earlier audits cannot be used."""

    def __init__(self, path: Path, fault: str) -> None:
        self.path = path
        super().__init__(f"{path}: {fault}; move it away, or keep the history in another directory")


class UnreadableLocationError(ReplicationError, OSError):
    """A snapshot's place cannot be listed: it is not there, or the system or the store refuses."""

    def __init__(self, location: str, error: Exception) -> None:
        self.file = location
        system = error.strerror if isinstance(error, OSError) else None
        super().__init__(f"{location}: {system or str(error).removeprefix(f'{location}: ')}")


class NoSnapshotError(ReplicationError, ValueError):
    """What was named holds no copy of a broker's log.dirs."""

    def __init__(self, location: str) -> None:
        self.file = location
        super().__init__(
            f"{location}: neither a log.dirs root nor a directory of several: it holds no directories such as orders-0 "
            "and no checkpoint files; name the directory that does"
        )


class SnapshotNameError(ReplicationError, ValueError):
    """The NAME in a `[NAME=]URI` is another's too, or may be meant as part of a path."""

    @classmethod
    def doubled(cls, name: str, first: str, second: str) -> Self:
        """Two are named alike."""
        return cls(f"{first} and {second} are both named {name}; name each differently")

    @classmethod
    def ambiguous(cls, argument: str, name: str, rest: str) -> Self:
        """There is such a directory, and one of the part behind the `=`."""
        return cls(
            f"{argument} is a directory, and may mean {rest} by the name {name} as well; write ./{argument} for the "
            f"directory, or {name}=./{rest}"
        )


class DifferentClustersError(ReplicationError, ValueError):
    """The snapshots are of brokers of different clusters, which share no data."""

    def __init__(self, clusters: Mapping[str, str]) -> None:
        """Name the cluster.id by snapshot."""
        told = ", ".join(f"{name} of cluster {cluster}" for name, cluster in clusters.items())
        super().__init__(
            f"snapshots of different clusters, by cluster.id in meta.properties: {told}; name one cluster's"
        )


class SameBrokerError(ReplicationError, ValueError):
    """Two snapshots are of the same broker, or have the same name."""

    def __init__(self, first: str, second: str, broker: str) -> None:
        super().__init__(
            f"{first} and {second} are both {broker}; name one copy of each broker, and several log.dirs of one broker "
            "as one directory that holds them"
        )


class SeveralBrokersError(ReplicationError, ValueError):
    """A directory holds the roots of several brokers, where one replica is meant."""

    def __init__(self, path: Path, brokers: Sequence[str]) -> None:
        self.path = path
        super().__init__(
            f"{path}: holds log.dirs roots of several brokers, {_listed(brokers)}; name each broker's by itself"
        )


class UnknownOptionError(ReplicationError, ValueError):
    """The `kafka-log` format has no such option."""

    def __init__(self, option: str, known: Iterable[str]) -> None:
        super().__init__(f"kafka-log has no option {option}; allowed: {', '.join(known)}")


class NotAllowedError(ReplicationError, ValueError):
    """An argument, or an option of the `kafka-log` format, has a value that it cannot have."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} cannot be {value!r}; allowed: {allowed}")


class WrongTypeError(ReplicationError, TypeError):
    """An argument is of a type that means something else, or nothing."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} cannot be {type(value).__name__} {value!r:.200}; allowed: {allowed}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
