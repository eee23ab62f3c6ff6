"""What `epochlog elect --dry-run` prints."""

from collections.abc import Mapping, Sequence

from logstore import TopicPartition
from replication.cli.client_properties import ClientProperties
from replication.cli.comparison import Failures, tell_of_damage
from replication.cli.output import complain, print_json, print_table
from replication.controller.elections import ElectionType
from replication.operations.cluster_reader import read_cluster
from replication.operations.described_state import described_state
from replication.operations.election_forecast import ElectionForecast, forecast
from replication.operations.election_losses import advice_for, losses_as_json, open_log_directories, standing_of
from replication.operations.leader_election import bootstrap_addresses
from replication.planning import Advice, Standing
from replication.protocol.cluster_client import ClusterClient


def foresee(
    bootstrap: str,
    client: ClientProperties,
    election_type: str,
    partitions: tuple[TopicPartition, ...] | None,
    log_dirs: Sequence[str],
    *,
    json: bool,
) -> bool:
    """Tell what elections would do, and return whether any would fail or might lose records."""
    failures = Failures()
    replicas = open_log_directories(log_dirs, failures) if log_dirs else []
    with ClusterClient(bootstrap_addresses(bootstrap), client.settings) as cluster:
        view = read_cluster(cluster)
    for gap in view.gaps:
        complain(str(gap))
    forecasts = forecast(described_state(view), ElectionType[election_type], partitions)
    advice = {each.partition: advice_for(replicas, each.partition, failures) for each in forecasts if each.is_unclean}
    for judged in filter(None, advice.values()):
        for standing in judged.replicas:
            tell_of_damage(f"{judged.topic}-{judged.partition}", f"broker {standing.replica}", standing.damage)
    if json:
        documents = [
            {**each.as_json(), **losses_as_json(advice.get(each.partition), each.would_lead)} for each in forecasts
        ]
        print_json({"dry_run": True, "election_type": election_type, "partitions": documents})
    else:
        _print_forecasts(forecasts, advice)
    return any(each.fails or each.is_unclean for each in forecasts)


def _print_forecasts(forecasts: Sequence[ElectionForecast], advice: Mapping[TopicPartition, Advice | None]) -> None:
    print_table(
        "Nobody is elected: this would become of it",
        ("partition", "leader", "would lead", "in sync", "election", "lost by the others"),
        [
            (
                each.partition,
                each.leader,
                each.would_lead,
                ",".join(map(str, each.isr)),
                _outcome(each),
                _losses(advice.get(each.partition), each.would_lead) if each.is_unclean else None,
            )
            for each in forecasts
        ],
    )


def _outcome(foreseen: ElectionForecast) -> str:
    if foreseen.message:
        return foreseen.message
    return "unclean" if foreseen.is_unclean else "clean"


def _losses(advice: Advice | None, leader: int | None) -> str:
    standing = standing_of(advice, leader)
    if advice is None or standing is None:
        return f"not known: name --log-dir of broker {leader} and of others"
    better = "" if advice.recommended == standing.replica else f"; broker {advice.recommended} had better lead"
    return _lost_by_others(standing) + better


def _lost_by_others(standing: Standing) -> str:
    lost = [
        f"broker {other}: {loss.records_lost} records, {loss.bytes_lost} bytes from {loss.truncate_to} on"
        for other, loss in standing.lost.items()
        if loss.records_lost
    ]
    return "; ".join(lost) or "nothing"
