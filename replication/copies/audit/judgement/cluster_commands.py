"""Commands that act on a running cluster, as words of a shell: whatever things are called, each is one word."""

import json
import shlex
from collections.abc import Collection, Iterable
from typing import Final

from replication.base.json_object import Json

MOST_TOPICS: Final = 8
"""That are named to one command."""
FEWEST_COMPARED: Final = 2
"""Brokers whose directories a dry run takes; it refuses a single one, as nothing can be compared with it."""


def elect(topic: str, partition: int, bootstrap: str) -> str:
    """Return the unclean election of a partition; `bootstrap` is an address, quoted where it has to be.

    >>> elect("orders", 0, "broker1:9092")
    'epochlog elect --bootstrap broker1:9092 --election-type unclean --topic orders --partition 0'
    """
    return (
        f"epochlog elect --bootstrap {bootstrap} --election-type unclean --topic {shlex.quote(topic)} "
        f"--partition {partition}"
    )


def elect_listed(file: str, bootstrap: str) -> str:
    """Return the unclean election of the partitions that a file lists, as Kafka's tool reads it."""
    return f"epochlog elect --bootstrap {bootstrap} --election-type unclean --path-to-json-file {shlex.quote(file)}"


def election_file(file: str, partitions: Iterable[tuple[str, int]]) -> str:
    """Return what writes that file."""
    listed = [{"topic": topic, "partition": number} for topic, number in partitions]
    return f"echo {shlex.quote(json.dumps({'partitions': listed}, separators=(',', ':')))} > {shlex.quote(file)}"


def show_topics(topics: Collection[str], bootstrap: str) -> str:
    """Return what shows who leads the partitions of topics; of more than a few, of all."""
    chosen = sorted(topics) if len(topics) <= MOST_TOPICS else []
    named = [f"--topics {shlex.quote(','.join(chosen))}"] if chosen else []
    return " ".join(["epochlog cluster --bootstrap", bootstrap, *named])


def dry_run(election: str, snapshots: Iterable[Json]) -> str:
    """Return the same election as a dry run, which compares the copies that are directories of known brokers."""
    directories = {
        each["node_id"]: [root for root in each["roots"] if "://" not in root]
        for each in snapshots
        if each["node_id"] is not None
    }
    comparable = {broker: roots for broker, roots in directories.items() if roots}
    if len(comparable) < FEWEST_COMPARED:
        return f"{election} --dry-run"
    named = (f"--log-dir {broker}={shlex.quote(root)}" for broker, roots in comparable.items() for root in roots)
    return " ".join([election, "--dry-run", *named])


def reset_group(offset: Json, bootstrap: str) -> str:
    """Return the reset of a consumer group to where the logs part; `--execute` or `--dry-run` has to follow."""
    return (
        f"kafka-consumer-groups.sh --bootstrap-server {bootstrap} --group {shlex.quote(offset['group'])} "
        f"--topic {shlex.quote(offset['topic'])}:{offset['partition']} --reset-offsets "
        f"--to-offset {offset['truncate_to']}"
    )


def abort_transaction(transaction: Json, bootstrap: str) -> str:
    """Return the end of a transaction that no coordinator will end."""
    return (
        f"kafka-transactions.sh --bootstrap-server {bootstrap} abort --topic {shlex.quote(transaction['topic'])} "
        f"--partition {transaction['partition']} --start-offset {transaction['first_offset']}"
    )
