"""What `epochlog elect --dry-run` prints."""

from collections.abc import Mapping, Sequence

from logstore import TopicPartition
from replication.cli.judging.comparison import Failures, tell_of_damage
from replication.cli.judging.election_losses import ElectionLosses, losses_of
from replication.cli.output.printing import complain, print_json, print_table
from replication.cli.settings.client_properties import ClientProperties
from replication.cluster.operations.cluster_reader import read_cluster
from replication.cluster.operations.described_state import described_state
from replication.cluster.operations.election_directories import ensure_of_cluster, open_log_directories
from replication.cluster.operations.election_forecast import ElectionForecast, forecast
from replication.cluster.operations.leader_election import bootstrap_addresses
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.messages.elect_leaders import ElectionType


def foresee(
    bootstrap: str,
    client: ClientProperties,
    election_type: str,
    partitions: tuple[TopicPartition, ...] | None,
    log_dirs: Sequence[str],
    *,
    json: bool,
) -> bool:
    """Report what elections would do, and return whether any would fail or might lose records."""
    failures = Failures()
    replicas = open_log_directories(log_dirs, failures) if log_dirs else []
    with ClusterClient(bootstrap_addresses(bootstrap), client.settings) as cluster:
        view = read_cluster(cluster)
    ensure_of_cluster(log_dirs, view.cluster_id)
    for gap in view.gaps:
        complain(str(gap))
    forecasts = forecast(described_state(view), ElectionType[election_type], partitions)
    losses = losses_of([each for each in forecasts if each.is_unclean], replicas, failures)
    for partition, each in losses.items():
        for candidate in each.judged["candidates"] if each.judged else ():
            tell_of_damage(str(partition), f"broker {candidate['replica']}", candidate["damage"])
    if json:
        documents = [{**each.as_json(), **_losses_as_json(losses.get(each.partition))} for each in forecasts]
        print_json(
            {
                "dry_run": True,
                "election_type": election_type,
                "partitions": documents,
                "not_known": {gap.aspect: gap.reason for gap in view.gaps},
                "errors": failures.as_json(),
            }
        )
    else:
        _print_forecasts(forecasts, losses)
    return any(each.fails or each.is_unclean for each in forecasts)


def _print_forecasts(forecasts: Sequence[ElectionForecast], losses: Mapping[TopicPartition, ElectionLosses]) -> None:
    print_table(
        "Dry run: no election is held; these would be the results",
        ("partition", "leader", "would lead", "in sync", "election", "lost by the others"),
        [
            (
                each.partition,
                each.leader,
                each.would_lead,
                ",".join(map(str, each.isr)),
                _outcome(each),
                str(losses[each.partition]) if each.is_unclean else None,
            )
            for each in forecasts
        ],
    )


def _outcome(foreseen: ElectionForecast) -> str:
    if foreseen.message:
        return foreseen.message
    return "unclean" if foreseen.is_unclean else "clean"


def _losses_as_json(losses: ElectionLosses | None) -> Mapping[str, object]:
    return (
        losses.as_json() if losses else dict.fromkeys(("lost", "candidates", "recommended", "damaged", "not_compared"))
    )
