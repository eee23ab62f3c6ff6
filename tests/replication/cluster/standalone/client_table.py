"""What works with which client on a broker of ours: a table whose every `yes` is a test that runs.

    python -m tests.replication.cluster.standalone.client_table

writes it into docs/compatibility.md.
"""

from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, Final

from tests.oracle.release import RELEASES
from tests.replication.cluster.serving import client_table
from tests.replication.cluster.serving.client_table import Client
from tests.replication.cluster.standalone import java_clients as tools
from tests.replication.cluster.standalone import test_clients as tests

BEGIN: Final = "<!-- made by tests/replication/cluster/standalone/client_table.py -->\n"
COLUMNS: Final = ("writes", "idempotent", "reads", "in a group", "by offset and time", "manages")


def clients() -> Iterator[Client]:
    """All clients with which a broker of ours is tested."""
    kafka = ", ".join(release.version for release in RELEASES)
    written = tests.test_each_client_reads_after_a_restart_what_each_has_written_in_each_manner
    everything: dict[str, Callable[..., Any]] = {
        "writes": written,
        "idempotent": tests.test_kafkas_dump_log_finds_the_same_records_and_has_nothing_to_complain_of,
        "reads": written,
        "in a group": tests.test_the_next_member_of_a_group_goes_on_where_the_one_before_it_has_committed,
        "by offset and time": tests.test_each_client_seeks_by_offset_and_by_time,
    }
    for package, name in (
        ("confluent-kafka", "confluent-kafka (librdkafka)"),
        ("kafka-python", "kafka-python"),
        ("aiokafka", "aiokafka"),
    ):
        yield Client(name, version(package), everything)
    yield Client("kafka-console-producer", kafka, {"writes": tools.console, "idempotent": tools.console})
    yield Client("kafka-console-consumer", kafka, {"reads": tools.console})
    yield Client("kafka-producer-perf-test", kafka, {"writes": tools.performance, "idempotent": tools.performance})
    yield Client("kafka-consumer-perf-test", kafka, {"reads": tools.performance, "in a group": tools.performance})
    for name, check in (
        ("kafka-topics", tools.topics),
        ("kafka-configs", tools.configs),
        ("kafka-get-offsets", tools.offsets),
        ("kafka-delete-records", tools.delete_records),
        ("kafka-leader-election", tools.leader_election),
        ("kafka-log-dirs", tools.log_dirs),
        ("kafka-broker-api-versions", tools.api_versions),
        ("kafka-consumer-groups", tools.consumer_groups),
    ):
        yield Client(name, kafka, {"manages": check})


def table() -> str:
    """The table as the page has it."""
    return client_table.table_of(COLUMNS, clients())


if __name__ == "__main__":
    client_table.write(BEGIN, table())
