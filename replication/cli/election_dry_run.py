"""What `epochlog elect --dry-run` prints."""

from collections.abc import Mapping, Sequence

from logstore import TopicPartition
from replication.cli.client_properties import ClientProperties
from replication.cli.comparison import Failures, tell_of_damage
from replication.cli.output import complain, print_json, print_table
from replication.counted import counted
from replication.operations.cluster_reader import read_cluster
from replication.operations.described_state import described_state
from replication.operations.election_forecast import ElectionForecast, forecast
from replication.operations.election_losses import ElectionLosses, ensure_of_cluster, open_log_directories
from replication.operations.leader_election import bootstrap_addresses
from replication.planning import Standing
from replication.protocol.client.cluster_client import ClusterClient
from replication.protocol.messages.elect_leaders import ElectionType


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
    losses = {each.partition: ElectionLosses.of(each, replicas, failures) for each in forecasts if each.is_unclean}
    for judged in filter(None, (each.advice for each in losses.values())):
        for standing in judged.replicas:
            tell_of_damage(f"{judged.topic}-{judged.partition}", f"broker {standing.replica}", standing.damage)
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
                _told(losses[each.partition]) if each.is_unclean else None,
            )
            for each in forecasts
        ],
    )


def _outcome(foreseen: ElectionForecast) -> str:
    if foreseen.message:
        return foreseen.message
    return "unclean" if foreseen.is_unclean else "clean"


def _losses_as_json(losses: ElectionLosses | None) -> Mapping[str, object]:
    return losses.as_json() if losses else {"lost": None, "recommended": None, "damaged": None, "not_compared": None}


def _told(losses: ElectionLosses) -> str:
    absent = ", ".join(map(str, losses.not_compared))
    if losses.leader is None:
        return f"not known: name --log-dir of broker {absent}" if absent else "not known"
    told = [_lost_by_others(losses.leader)]
    if losses.recommended != losses.foreseen.would_lead:
        fewest = counted(losses.lost_under_recommended or 0, "record")
        told.append(f"prefer broker {losses.recommended}{_damage(losses)} as leader: {fewest} lost")
    if absent:
        told.append(f"not compared: broker {absent}")
    return "; ".join(told)


def _damage(losses: ElectionLosses) -> str:
    """Say of the broker that is recommended, if so, that its copy is damaged."""
    standings = losses.advice.replicas if losses.advice else ()
    return " (damaged)" if any(each.damage for each in standings if each.replica == str(losses.recommended)) else ""


def _lost_by_others(standing: Standing) -> str:
    lost = [
        f"broker {other}: {loss.records_lost} records, {loss.bytes_lost} bytes from {loss.truncate_to} on"
        for other, loss in standing.lost.items()
        if loss.records_lost
    ]
    return "; ".join(lost) or "none by leader epochs; the records were not read"
