"""`epochlog format`."""

from pathlib import Path
from typing import Annotated

import typer

from replication.cli.output.failure import CommandError, MissingPackageError
from replication.cli.output.printing import JsonOption, print_json, shown


def format(  # noqa: A001  the command's name, which is that of Kafka's tool
    *,
    config: Annotated[Path, typer.Option(metavar="FILE", help="The broker's server.properties, under Kafka's names.")],
    cluster_id: Annotated[str, typer.Option(metavar="ID", help="The id of the cluster that the broker is to join.")],
    ignore_formatted: Annotated[
        bool, typer.Option("--ignore-formatted", help="Skip directories that are already formatted for this broker.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Format the log.dirs of a server.properties for a broker of a cluster, as `kafka-storage format` does.

    Each directory must be new or empty. Nothing is changed if one of them is already formatted, or belongs to another
    cluster or another broker.

    Examples:
      epochlog format --config server.properties --cluster-id MkU3OEVBNTcwNTJENDM2Qg
      epochlog format --config server.properties --cluster-id ID --ignore-formatted
    """
    try:
        from replication.cli.settings.joining_properties import directories_of
        from replication.cluster.standalone.formatting import ensure_formatted, is_new, owner_of
    except ModuleNotFoundError as error:
        raise MissingPackageError("formatting needs", error, "wire") from error
    cluster_id = cluster_id.strip()
    if not cluster_id:
        raise CommandError("--cluster-id names no cluster; kafka-cluster.sh cluster-id prints that of a running one")
    node_id, roots = directories_of(config)
    known = {root: owner_of(root, node_id) for root in roots if not is_new(root)}
    for root, owner in known.items():
        if owner.cluster_id != cluster_id:
            raise CommandError(
                f"{root} is formatted for cluster {owner.cluster_id} already: name that cluster, or another directory"
            )
    if known and not ignore_formatted:
        raise CommandError(
            f"{', '.join(map(str, known))}: formatted already; --ignore-formatted formats the others alone"
        )
    formatted = ensure_formatted(roots, node_id, cluster_id)
    if json:
        print_json(
            {
                "cluster_id": cluster_id,
                "node_id": node_id,
                "formatted": list(map(str, formatted)),
                "left_alone": list(map(str, known)),
            }
        )
        return
    for root in formatted:
        print(f"{shown(str(root))}: formatted for broker {node_id} of cluster {cluster_id}")
    for root in known:
        print(f"{shown(str(root))}: this broker's already")
