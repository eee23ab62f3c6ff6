"""`epochlog salvage --produce`: records written to a running cluster, and what is reported of it."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replication.base.counted import counted
from replication.cli.judging.comparison import Failures
from replication.cli.output.failure import MissingPackageError
from replication.cli.output.printing import progress_bar
from replication.cli.output.prose import wrapped
from replication.cli.settings.connection import client_settings

if TYPE_CHECKING:
    from logstore.topic_partition import TopicPartition
    from replication.copies.salvage.cluster.production import Production
    from replication.copies.salvage.salvage_plan import SalvagePlan


def cluster_client(bootstrap: str, command_config: Path | None) -> dict[str, Any]:
    """Return the settings of the client. Raises MissingPackageError, InvalidSettingsError and OSError."""
    try:
        import confluent_kafka  # noqa: F401  an extra
    except ModuleNotFoundError as error:
        raise MissingPackageError("to write to a cluster, `salvage` needs", error, "produce") from error
    from replication.cli.settings.librdkafka_settings import librdkafka_settings

    return librdkafka_settings(bootstrap, client_settings(command_config))


def produced(
    plan: "SalvagePlan",
    client: dict[str, Any],
    to_topic: str | None,
    failures: Failures,
    *,
    dry_run: bool,
    shows_progress: bool,
) -> "Production":
    """Write what a plan salvages, or find out what would be. Raises what `produce` does."""
    from replication.copies.salvage.cluster.production import produce

    wait = client["socket.timeout.ms"] / 1_000
    sizes = {each.topic_partition: each.size for each in plan.salvages()}
    # The copies are read twice.
    with progress_bar("producing", 2 * sum(sizes.values()), wanted=shows_progress) as advance:

        def progress(partition: "TopicPartition") -> None:
            advance(sizes[partition])

        return produce(
            plan, client, to_topic=to_topic, dry_run=dry_run, timeout=wait, on_error=failures, progress=progress
        )


def production_lines(production: "Production", *, dry_run: bool) -> Iterator[str]:
    """Yield what was written now, what was there before, and whether it is another cluster."""
    verb = "to write" if dry_run else "written"
    written, there = counted(production.written, "record"), f"{production.already_there:,}"
    text = f"{written} {verb} to the cluster {production.cluster_id}, and {there} found there from an earlier run."
    if production.is_elsewhere:
        text += f" The copies are of another cluster, {production.copies_cluster_id}."
    yield from wrapped(text)
    for each in production.partitions:
        if each.to_topic != each.topic or each.already_there:
            place = f"{each.to_topic}-{each.partition}"
            line = (
                f"{each.topic}-{each.partition}: {each.written:,} {verb} to {place}, {each.already_there:,} found there"
            )
            yield from wrapped(line, "    ", "  ")


def production_as_json(production: "Production", *, dry_run: bool) -> dict[str, Any]:
    """Return the same for `--json`."""
    return {
        "dry_run": dry_run,
        "cluster_id": production.cluster_id,
        "copies_cluster_id": production.copies_cluster_id,
        "written": production.written,
        "already_there": production.already_there,
        "partitions": [asdict(each) for each in production.partitions],
    }
