"""Documents as `epochlog audit --json` prints them, of clusters of any size."""

from typing import Any


def entry(epoch: int, start_offset: int) -> dict[str, int]:
    return {"epoch": epoch, "start_offset": start_offset}


def branch(replica: str, end: int, *lineage: dict[str, int], start: int = 0, hw: int | None = None) -> dict[str, Any]:
    return {
        "replica": replica,
        "directory": f"/copies/{replica}/payments-0",
        "log_start_offset": start,
        "log_end_offset": end,
        "high_watermark": hw,
        "high_watermark_unread": False,
        "records": end - start,
        "bytes": 70 * (end - start),
        "lineage": list(lineage),
        "open_transactions": [],
    }


def pair(leader: str, follower: str, relation: str, truncate_to: int | None, lost: int | None) -> dict[str, Any]:
    verdict = {"forked": "forked", "lagging": "lagging", "ahead": "lagging"}.get(relation, "identical")
    return {
        "leader": leader,
        "follower": follower,
        "relation": relation,
        "truncate_to": truncate_to,
        "records_lost": lost,
        "bytes_lost": None if lost is None else 70 * lost,
        "verdict": verdict,
        "verdicts": [verdict],
        "first_difference": truncate_to,
    }


def fork(left: str, right: str, offset: int, *sides: tuple[int, int | None]) -> dict[str, Any]:
    """`sides` are the epoch and the time of each copy's batch."""
    (left_epoch, left_timestamp), (right_epoch, right_timestamp) = sides
    return {
        "left": left,
        "right": right,
        "offset": offset,
        "left_epoch": left_epoch,
        "right_epoch": right_epoch,
        "left_timestamp": left_timestamp,
        "right_timestamp": right_timestamp,
    }


def span(records: int, first: int | None = None, *epochs: int) -> dict[str, Any]:
    times = (1_700_000_000_000, 1_700_000_060_000) if records else (None, None)
    return {
        "records": records,
        "control_records": 0,
        "first_offset": first,
        "last_offset": first + records - 1 if records and first is not None else None,
        "epochs": list(epochs),
        "min_timestamp": times[0],
        "max_timestamp": times[1],
    }


def candidate(
    replica: str, epoch: int, end: int, lost: dict[str, Any], acknowledged: dict[str, Any], damage: str | None = None
) -> dict[str, Any]:
    return {
        "replica": replica,
        "last_epoch": epoch,
        "log_end_offset": end,
        "damage": damage,
        "lost": lost,
        "acknowledged": acknowledged,
        "maybe_acknowledged": span(0),
        "acknowledged_at_most": acknowledged["records"],
    }


def _foreseen(name: str | None) -> dict[str, Any]:
    return {
        "replica": name,
        "leader": None if name is None else int(name[-1]) if name[-1].isdigit() else 2,
        "reason": "nobody" if name is None else "in sync",
        "epochs": [3],
        "isr": [],
        "elr": [],
        "unclean": False,
    }


def election(*leaders: str | None, absent: tuple[int, ...] = (), why_unknown: str | None = None) -> dict[str, Any]:
    """Kafka elects one of these, by names that end with the brokers' ids; None stands for nobody."""
    together = [_foreseen(name) for name in leaders]
    alone = [{"started": [each], "elections": [_foreseen(f"broker-{each}")]} for each in (1, 2, 3)]
    return {
        "why_unknown": why_unknown,
        "metadata_of": None if why_unknown else "controller-1",
        "is_complete": why_unknown is None,
        "together": together,
        "orders": [order for order in alone if order["elections"][0] in together],
        "forced": [] if why_unknown else alone,
        "absent": list(absent),
        "is_recovering": False,
        "voters": [],
        "unclean_allowed": None if why_unknown else False,
        "min_isr": None if why_unknown else 1,
        "has_elr": None if why_unknown else False,
        "leader": None,
        "leader_epoch": None if why_unknown else 2,
        "replicas": [] if why_unknown else [1, 2, 3],
        "isr": [] if why_unknown else [each["leader"] or 9 for each in together],
        "elr": [],
        "last_known_elr": [],
    }


def elects(partition: dict[str, Any], *leaders: str | None, absent: tuple[int, ...] = ()) -> dict[str, Any]:
    """Return a partition of which Kafka elects one of these."""
    kafkas = leaders[0] if len(leaders) == 1 else None
    return {**partition, "kafkas_choice": kafkas, "election": election(*leaders, absent=absent)}


def untold(partition: dict[str, Any]) -> dict[str, Any]:
    """Return a partition of which the files do not tell whom Kafka elects."""
    return {**partition, "kafkas_choice": None, "election": election(why_unknown="there is no copy of the metadata")}


def forked(topic: str = "payments", partition: int = 0) -> dict[str, Any]:
    """Two branches from 300 on: broker-1 wrote 120 records of epoch 1, broker-2 50 of epoch 2."""
    return {
        "topic": topic,
        "partition": partition,
        "verdict": "forked",
        "verdicts": ["forked", "lagging"],
        "recommended": "broker-1",
        "kafkas_choice": "broker-2",
        "election": election("broker-2"),
        "latest_and_longest": "broker-2",
        "least_loss": "broker-1",
        "choices_differ": True,
        "candidates": [
            candidate("broker-1", 1, 420, span(50, 300, 2), span(0)),
            candidate("broker-2", 2, 350, span(120, 300, 1), span(120, 300, 1)),
            candidate("broker-3", 1, 300, span(170, 300, 1, 2), span(120, 300, 1)),
        ],
        "pairs": [
            pair("broker-1", "broker-2", "forked", 300, 50),
            pair("broker-2", "broker-1", "forked", 300, 120),
            pair("broker-1", "broker-3", "lagging", 300, 0),
            pair("broker-2", "broker-3", "lagging", 300, 0),
            pair("broker-3", "broker-1", "ahead", 300, 120),
            pair("broker-3", "broker-2", "ahead", 300, 50),
        ],
        "branches": [
            branch("broker-1", 420, entry(0, 0), entry(1, 200), hw=420),
            branch("broker-2", 350, entry(0, 0), entry(1, 200), entry(2, 300), hw=300),
            branch("broker-3", 300, entry(0, 0), entry(1, 200), hw=300),
        ],
        "forks": [fork("broker-1", "broker-2", 300, (1, 1_700_000_000_000), (2, 1_700_000_090_000))],
        "missing": [],
        "without_copy": [],
        "unread": [],
        "topic_id": None,
    }


def agreeing(topic: str, partition: int, verdict: str = "identical") -> dict[str, Any]:
    return {
        "topic": topic,
        "partition": partition,
        "verdict": verdict,
        "verdicts": [verdict],
        "recommended": "broker-1",
        "kafkas_choice": "broker-1",
        "election": election("broker-1"),
        "latest_and_longest": "broker-1",
        "least_loss": "broker-1",
        "choices_differ": False,
        "candidates": [candidate(f"broker-{number}", 0, 100, span(0), span(0)) for number in (1, 2)],
        "pairs": [pair("broker-1", "broker-2", verdict, 100, 0), pair("broker-2", "broker-1", verdict, 100, 0)],
        "branches": [branch("broker-1", 100, entry(0, 0)), branch("broker-2", 100, entry(0, 0))],
        "forks": [],
        "missing": [],
        "without_copy": [],
        "unread": [],
        "topic_id": None,
    }


def finding(kind: str = "corrupt-batch", severity: str = "error", partition: int = 0, **fields: Any) -> dict[str, Any]:
    return {
        "replica": "broker-1",
        "kind": kind,
        "severity": severity,
        "topic": "payments",
        "partition": partition,
        "file": "00000000000000000000.log",
        "position": 4096,
        "offset": 17,
        "message": "the checksum of the batch does not match",
        **fields,
    }


def document(*partitions: dict[str, Any], findings: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    snapshots = [
        {
            "name": f"broker-{number}",
            "roots": [f"/copies/broker-{number}"],
            "node_id": number,
            "cluster_id": "5L6g3nShT-eMCtK--X86sw",
            "partitions": len(partitions),
            "bytes": 1 << 20,
        }
        for number in (1, 2, 3)
    ]
    metrics = {
        "time": 1_700_000_000,
        "bytes": 3 << 20,
        "bytes_read": 3 << 20,
        "bytes_fetched": 0,
        "requests": 0,
        "oldest_read": 1_700_000_000,
        "seconds": 12.5,
    }
    return {
        "snapshots": snapshots,
        "partitions": list(partitions),
        "findings": list(findings),
        "metrics": metrics,
        **more,
    }


CRITICAL = finding("committed-records-lost", "critical", message="120 records of payments-0")
STRANDED = {
    "group": "billing",
    "topic": "payments",
    "partition": 0,
    "committed_offset": 410,
    "truncate_to": 300,
    "replica": "broker-1",
}
