"""The command-line tools that come with Kafka, as operators run them."""

import subprocess

from logstore import TopicPartition
from replication.metadata.metadata_version import MetadataVersion
from tests.oracle.java import SILENT
from tests.oracle.kafka import classpath, kafka_options
from tests.oracle.release import KafkaRelease
from tests.replication.serving.clients import LEVELS, Seen

SECONDS = 120
IDLE_MS = 3_000
"""After that without a record the console's consumer takes a topic to be at its end."""
TOOLS = {
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}

BEFORE_4_4 = {"kafka-configs": "kafka.admin.ConfigCommand"}


def run_tool(release: KafkaRelease, tool: str, *arguments: object, typed: str = "") -> str:
    """Run a tool to its end with what is typed into it, and return what it prints."""
    named = {**TOOLS, **(BEFORE_4_4 if release.metadata_version < MetadataVersion.V4_4_IV0 else {})}
    command = ["java", SILENT, *kafka_options(release), "-cp", classpath(release), named[tool], *map(str, arguments)]
    ended = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ended.returncode == 0, f"{tool}: {ended.stdout[-2_000:]}{ended.stderr[-2_000:]}"
    return ended.stdout


def console_consumer(release: KafkaRelease, bootstrap: str, partition: TopicPartition, committed: bool) -> list[Seen]:
    """What the console's consumer prints of a partition from its first offset on."""
    shown = ("print.timestamp", "print.offset", "print.headers", "print.key", "print.value")
    deserializers = ("key.deserializer", "value.deserializer", "headers.deserializer")
    properties = [f"{name}=true" for name in shown] + [
        f"{name}=org.apache.kafka.common.serialization.BytesDeserializer" for name in deserializers
    ]
    printed = run_tool(
        release,
        "kafka-console-consumer",
        *("--bootstrap-server", bootstrap, "--topic", partition.topic, "--partition", partition.partition),
        *("--offset", "earliest", "--isolation-level", LEVELS[committed], "--timeout-ms", IDLE_MS),
        *(part for each in properties for part in ("--formatter-property", each)),
    )
    return [_seen(line) for line in printed.splitlines()]


def as_printed(seen: Seen) -> Seen:
    """What is left of a record once the console has printed it: its bytes as text."""
    headers = tuple((name, _text(value).encode()) for name, value in seen.headers)
    return seen._replace(key=_text(seen.key).encode(), value=_text(seen.value).encode(), headers=headers)


def _seen(line: str) -> Seen:
    timestamp, offset, headers, key, value = line.split("\t")
    told = [each.split(":", 1) for each in headers.split(",") if headers != "NO_HEADERS"]
    return Seen(
        int(offset.removeprefix("Offset:")),
        int(timestamp.split(":")[1]) if ":" in timestamp else -1,
        key.encode(),
        value.encode(),
        tuple((name, text.encode()) for name, text in told),
    )


def _text(data: bytes | None) -> str:
    """Bytes as Kafka's class of that name prints them."""
    if data is None:
        return "null"
    return "".join(chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x5C else f"\\x{byte:02X}" for byte in data)
