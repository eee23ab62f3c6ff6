"""Jobs of two steps on Spark; by them the audit over the network has the same result, and no secret is shown."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from logstore.offline.partition_directory import PartitionDirectory
from replication.cluster.network_audit.network_auditing import NetworkAudit
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.spark.sessions.stepped_job import run_in_steps
from replication.testing import Cluster
from replication.wire.client.cluster_client import ClusterClient
from tests.replication.cli.command import epochlog
from tests.replication.cluster.network_audit.changed_files import cut_out
from tests.replication.copies.audit.logs import change_record

SECRET = "s3cret-word"  # noqa: S105  the test's own
TOPICS = ("plain", "flipped", "lacking", "keys", "empty")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as cluster:
        for topic in TOPICS:
            configs = {"cleanup.policy": "compact"} if topic == "keys" else {}
            cluster.create_topic(topic, replication_factor=3, configs=configs)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.num.messages": 3})
        for number in range(300):
            for topic in TOPICS[:-1]:
                producer.produce(topic, b"value-%d" % number, b"key-%d" % (number % 50), partition=0)
        assert producer.flush(120) == 0
        cluster.stop(3)
        flipped, lacking = (PartitionDirectory.open(cluster.root(3) / f"{topic}-0") for topic in TOPICS[1:3])
        change_record(flipped, middle_of(flipped))
        cut_out(lacking, middle_of(lacking), middle_of(lacking))
        cluster.start(3)
        for topic in TOPICS:
            cluster.wait_for_isr(topic, size=3, seconds=240)
        yield cluster


def middle_of(partition: PartitionDirectory) -> int:
    with partition.segments[0].open_log() as log:
        batches = list(log.batches())
    return batches[len(batches) // 2].base_offset


def audited(cluster: Cluster, **more: Any) -> list[dict[str, Any]]:
    with ClusterClient(cluster.bootstrap) as client:
        audit = NetworkAudit(client, cluster.bootstrap, AuditOptions(live=True), **more)
        document = audit.carry_out().document
    return [*document["partitions"], *document["findings"]]


def test_the_audit_over_the_network_has_the_same_result_on_spark(spark: SparkSession, cluster: Cluster) -> None:
    alone = audited(cluster)
    on_spark = audited(cluster, run=partial(run_in_steps, spark), tasks_at_once=2, bytes_per_second=1 << 30)
    assert on_spark == alone
    verdicts = {each["topic"]: each["verdict"] for each in on_spark if "verdict" in each}
    assert verdicts == {
        "plain": "identical",
        "flipped": "silent-divergence",
        "lacking": "missing",
        "keys": "identical",
        "empty": "identical",
    }


def test_the_command_has_spark_do_it(spark: SparkSession, cluster: Cluster) -> None:
    assert spark is not None
    asked = "audit", "--bootstrap", cluster.bootstrap, "--json", "--topics", "plain,lacking"
    outcomes = [epochlog(*asked, *more) for more in ([], ["--engine", "spark"])]
    documents = [outcome.document for outcome in outcomes]
    assert [each["partitions"] for each in documents] == [documents[0]["partitions"]] * 2
    assert [outcome.status for outcome in outcomes] == [1, 1]


def _first(secret: str, data: bytes) -> bytes:
    assert secret == SECRET
    return data.upper()


def _second(secret: str, group: int, results: Sequence[bytes]) -> bytes:
    assert secret == SECRET
    return b"%d:%s" % (group, b",".join(sorted(results)))


def test_what_travels_with_a_job_stands_in_nothing_that_spark_shows(spark: SparkSession) -> None:
    tasks = [(3, b"a"), (4, b"b"), (3, b"c")]
    done = run_in_steps(spark, tasks, partial(_first, SECRET), partial(_second, SECRET))
    assert done == {3: b"3:A,C", 4: b"4:B"}
    context = spark.sparkContext
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()  # type: ignore[attr-defined]
    shown = [executions.apply(number).physicalPlanDescription() for number in range(executions.size())]
    assert len(shown) > 0
    assert not any(SECRET in text for text in shown)
    assert not any(SECRET in value for setting in context.getConf().getAll() for value in setting)


def test_nothing_is_asked_of_spark_where_there_is_nothing_to_do(spark: SparkSession) -> None:
    assert run_in_steps(spark, [], partial(_first, SECRET), partial(_second, SECRET)) == {}
