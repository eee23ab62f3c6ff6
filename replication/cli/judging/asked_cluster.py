"""The running cluster that `--ask` names."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from replication.cli.output.failure import MissingPackageError
from replication.cli.output.printing import complain
from replication.cli.settings.connection import client_settings

if TYPE_CHECKING:
    from logstore.topic_partition import TopicPartition
    from replication.copies.planning.living_partition import LivingPartition
    from replication.copies.planning.replica import Replica
    from replication.wire.client.cluster_client import ClusterClient

Answers = Mapping["TopicPartition", "LivingPartition"]


@dataclass(slots=True)
class AskedCluster:
    """What its brokers answer; without `--ask` nobody is asked, and nothing is known."""

    _client: "ClusterClient | None" = None
    _known: dict["TopicPartition", "LivingPartition"] = field(default_factory=dict)

    def about(self, partitions: Iterable["TopicPartition"], replicas: Iterable["Replica"]) -> Answers:
        """Ask about partitions, and remember the answers.

        Raises DifferentClustersError where copies are another cluster's, NotAnsweredError, and errors of connections.
        """
        if self._client is None:
            return {}
        from replication.cluster.asking.living_cluster import ask_cluster
        from replication.copies.planning.named_roots import ensure_one_cluster

        cluster = ask_cluster(self._client, partitions)
        ensure_one_cluster({"--ask": cluster.cluster_id, **{each.name: each.cluster_id for each in replicas}})
        for reason in cluster.not_told:
            complain(f"not known: {reason}")
        self._known = dict(cluster.partitions)
        return self._known

    def with_ends(self) -> Answers:
        """Ask leaders for the high watermarks of these, now that the copies were read."""
        if self._client is None:
            return {}
        from replication.cluster.asking.living_cluster import with_ends

        self._known = with_ends(self._client, self._known)
        return self._known


@contextmanager
def asking(bootstrap: str | None, command_config: Path | None) -> Iterator[AskedCluster]:
    """Connect to the cluster that `--ask` names, for as long as it is asked."""
    if bootstrap is None:
        if command_config is not None:
            raise typer.BadParameter("nobody is connected to; it goes with --ask", param_hint="--command-config")
        yield AskedCluster()
        return
    try:
        from replication.wire.client.cluster_client import ClusterClient
    except ModuleNotFoundError as error:
        raise MissingPackageError("connecting to a cluster needs", error, "wire") from error
    with ClusterClient(bootstrap, client_settings(command_config)) as client:
        yield AskedCluster(client)
