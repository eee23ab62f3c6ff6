"""What works with which client: a table whose every `yes` is a test that runs.

    python -m tests.replication.cluster.serving.client_table

writes it into docs/compatibility.md.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.oracle.release import RELEASES
from tests.replication.cluster.serving import test_clients as reading
from tests.replication.cluster.serving import test_forks as forks
from tests.replication.cluster.serving import test_groups as groups
from tests.replication.cluster.serving import test_kafkas_tools as tools
from tests.replication.cluster.serving import test_seeking as seeking

PAGE: Final = Path(__file__).parents[4] / "docs/compatibility.md"
BEGIN: Final = "<!-- made by tests/replication/cluster/serving/client_table.py -->\n"
END: Final = "<!-- end of the table -->\n"
COLUMNS: Final = ("all records", "committed ones", "in a group", "by time", "by epoch", "describes")


class Client(NamedTuple):
    """A client, its releases, and the test of each thing that it does."""

    name: str
    releases: str
    shown: dict[str, Callable[..., Any]]


def clients() -> Iterator[Client]:
    """All clients with which serving is tested."""
    kafka = ", ".join(release.version for release in RELEASES)
    read = reading.test_each_client_reads_what_the_leaders_copies_hold
    group = groups.test_a_group_reads_all_partitions_and_commits_their_ends
    by_time = seeking.test_seeking_by_time_finds_the_first_record_that_is_not_earlier
    all_of_them: dict[str, Callable[..., Any]] = {
        "all records": read,
        "committed ones": read,
        "in a group": group,
        "by time": by_time,
    }
    told: dict[str, Callable[..., Any]] = {"by epoch": forks.test_a_reader_of_one_copy_is_told_once_the_other_one_leads}
    yield Client("confluent-kafka (librdkafka)", version("confluent-kafka"), {**all_of_them, **told})
    yield Client("kafka-python", version("kafka-python"), {**all_of_them, **told})
    yield Client("aiokafka", version("aiokafka"), all_of_them)
    console = tools.test_the_console_consumer_prints_each_record
    yield Client(
        "kafka-clients (Java), kafka-console-consumer",
        kafka,
        {
            "all records": console,
            "committed ones": console,
            "in a group": groups.test_a_group_in_java_reads_all_partitions_and_commits_their_ends,
            "by time": seeking.test_the_java_client_finds_times,
            "by epoch": forks.test_a_reader_in_java_of_one_copy_is_told_once_the_other_one_leads,
        },
    )
    perf = tools.test_kafka_consumer_perf_test_reads_topics
    yield Client("kafka-consumer-perf-test", kafka, {"all records": perf, "in a group": perf})
    for name, test in (
        ("kafka-get-offsets", tools.test_kafka_get_offsets_prints_where_the_logs_begin_and_end),
        ("kafka-topics", tools.test_kafka_topics_describes_leaders_and_replicas),
        ("kafka-log-dirs", tools.test_kafka_log_dirs_describes_the_partitions_of_brokers),
        ("kafka-configs", tools.test_kafka_configs_describes_topics),
        ("kafka-broker-api-versions", tools.test_kafka_broker_api_versions_lists_what_is_answered),
        ("kafka-consumer-groups", tools.test_kafka_consumer_groups_shows_what_a_group_has_committed),
    ):
        yield Client(name, kafka, {"describes": test})


def table() -> str:
    """The table as the page has it."""
    return table_of(COLUMNS, clients())


def table_of(columns: Sequence[str], clients: Iterable[Client]) -> str:
    """A table with a row for each client, which says `yes` where a test shows that."""
    lines = [f"| client | release | {' | '.join(columns)} |", f"|---|---|{'---|' * len(columns)}"]
    for client in clients:
        cells = ("yes" if column in client.shown else "" for column in columns)
        lines.append(f"| {client.name} | {client.releases} | {' | '.join(cells)} |".replace("  ", " "))
    return "\n".join(lines) + "\n"


def in_page(begin: str = BEGIN) -> str:
    """What the page has by now, after the line that begins a table."""
    return PAGE.read_text().partition(begin)[2].partition(END)[0]


def write(begin: str, table: str) -> None:
    """Put a table into the page after the line that begins it."""
    before, begin, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(before + begin + table + END + rest.partition(END)[2])


if __name__ == "__main__":
    write(BEGIN, table())
