"""The command-line tools that come with Kafka, as operators run them, in one process of Java.

with KafkaTools(release) as tools:
    tools.run("kafka-get-offsets", "--bootstrap-server", "localhost:9092").out
"""

import json
from typing import Final, NamedTuple

from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

_TOOLS: Final = "org.apache.kafka.tools."
CLASSES: Final = {
    "kafka-broker-api-versions": f"{_TOOLS}BrokerApiVersionsCommand",
    "kafka-cluster": f"{_TOOLS}ClusterTool",
    "kafka-configs": f"{_TOOLS}ConfigCommand",
    "kafka-console-consumer": f"{_TOOLS}consumer.ConsoleConsumer",
    "kafka-console-producer": f"{_TOOLS}ConsoleProducer",
    "kafka-consumer-groups": f"{_TOOLS}consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": f"{_TOOLS}ConsumerPerformance",
    "kafka-delete-records": f"{_TOOLS}DeleteRecordsCommand",
    "kafka-features": f"{_TOOLS}FeatureCommand",
    "kafka-get-offsets": f"{_TOOLS}GetOffsetShell",
    "kafka-leader-election": f"{_TOOLS}LeaderElectionCommand",
    "kafka-log-dirs": f"{_TOOLS}LogDirsCommand",
    "kafka-metadata-quorum": f"{_TOOLS}MetadataQuorumCommand",
    "kafka-producer-perf-test": f"{_TOOLS}ProducerPerformance",
    "kafka-reassign-partitions": f"{_TOOLS}reassign.ReassignPartitionsCommand",
    "kafka-topics": f"{_TOOLS}TopicCommand",
    "kafka-transactions": f"{_TOOLS}TransactionsCommand",
}
BEFORE_4_4: Final = {**CLASSES, "kafka-configs": "kafka.admin.ConfigCommand"}


class Printed(NamedTuple):
    """What a tool printed, and its exit status."""

    status: int
    out: str
    err: str


class KafkaTools(JavaProgram):
    """Runs tools one after the other."""

    def __init__(self, release: KafkaRelease) -> None:
        """Start Java, with the classes of a release."""
        super().__init__(release, "ToolOracle")
        self._classes: Final = BEFORE_4_4 if release.is_before_4_4 else CLASSES

    def run(self, tool: str, *arguments: object, typed: str = "") -> Printed:
        """Run a tool to its end with what is typed into it."""
        told = json.loads(self.ask(json.dumps([typed, self._classes[tool], *map(str, arguments)]))[0])
        return Printed(told["status"], told["out"], told["err"])
