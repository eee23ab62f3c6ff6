"""What works with which client: a table whose every `yes` is a test that runs.

    python -m tests.replication.serving.client_table

writes it into README.md.
"""

from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.oracle.release import RELEASES
from tests.replication.serving import test_clients as tests

README: Final = Path(__file__).parents[3] / "README.md"
BEGIN: Final = "<!-- made by tests/replication/serving/client_table.py -->\n"
END: Final = "<!-- end of the table -->\n"
COLUMNS: Final = ("all records", "committed ones", "in a group", "by time", "describes")


class Client(NamedTuple):
    """A client, its releases, and the test of each thing that it does."""

    name: str
    releases: str
    shown: dict[str, Callable[..., Any]]


def clients() -> Iterator[Client]:
    """All clients with which serving is tested."""
    kafka = ", ".join(release.version for release in RELEASES)
    read = tests.test_each_client_reads_what_the_leaders_copies_hold
    group = tests.test_subscribers_in_a_group_read_all_partitions
    both = {"all records": read, "committed ones": read, "in a group": group}
    yield Client("confluent-kafka (librdkafka)", version("confluent-kafka"), both)
    yield Client(
        "kafka-python",
        version("kafka-python"),
        {**both, "by time": tests.test_seeking_by_time_finds_the_first_record_that_is_not_earlier},
    )
    yield Client("aiokafka", version("aiokafka"), both)
    console = tests.test_the_console_consumer_prints_what_a_copy_holds
    yield Client("kafka-console-consumer", kafka, {"all records": console, "committed ones": console})
    perf = tests.test_kafka_consumer_perf_test_reads_a_topic
    yield Client("kafka-consumer-perf-test", kafka, {"all records": perf, "in a group": perf})
    for name, test in (
        ("kafka-get-offsets", tests.test_kafka_get_offsets_prints_where_the_logs_end),
        ("kafka-topics", tests.test_kafka_topics_describes_leaders_and_replicas),
        ("kafka-log-dirs", tests.test_kafka_log_dirs_describes_the_partitions_of_brokers),
        ("kafka-configs", tests.test_kafka_configs_describes_topics),
        ("kafka-broker-api-versions", tests.test_kafka_broker_api_versions_lists_what_is_answered),
        ("kafka-consumer-groups", tests.test_kafka_consumer_groups_shows_what_a_group_has_committed),
    ):
        yield Client(name, kafka, {"describes": test})


def table() -> str:
    """The table as README has it."""
    lines = [f"| client | release | {' | '.join(COLUMNS)} |", f"|---|---|{'---|' * len(COLUMNS)}"]
    for client in clients():
        cells = ("yes" if column in client.shown else "" for column in COLUMNS)
        lines.append(f"| {client.name} | {client.releases} | {' | '.join(cells)} |".replace("  ", " "))
    return "\n".join(lines) + "\n"


def in_readme() -> str:
    """What README has by now."""
    return README.read_text().partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    before, begin, rest = README.read_text().partition(BEGIN)
    README.write_text(before + begin + table() + END + rest.partition(END)[2])
