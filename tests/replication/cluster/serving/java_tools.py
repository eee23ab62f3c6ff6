"""The console's consumer that comes with Kafka, and what it prints."""

from collections import defaultdict

from tests.oracle.tools import KafkaTools
from tests.replication.cluster.serving.clients import LEVELS, Seen

IDLE_SECONDS = 5
"""Without a record for so long the console's consumer takes a topic to be at its end."""


def run_tool(tools: KafkaTools, tool: str, *arguments: object, typed: str = "") -> str:
    """Run a tool, which has to succeed, and return what it prints."""
    ended = tools.run(tool, *arguments, typed=typed)
    assert ended.status == 0, f"{tool}: {ended.out[-2_000:]}{ended.err[-2_000:]}"
    return ended.out


def console_consumer(
    tools: KafkaTools, bootstrap: str, topic: str, committed: bool, at_most: int | None = None
) -> dict[int, list[Seen]]:
    """What the console's consumer prints of a topic's partitions from their first offsets on."""
    shown = ("timestamp", "partition", "offset", "headers", "key", "value")
    deserializers = ("key.deserializer", "value.deserializer", "headers.deserializer")
    properties = [f"print.{name}=true" for name in shown] + [
        f"{name}=org.apache.kafka.common.serialization.BytesDeserializer" for name in deserializers
    ]
    ends = ("--timeout-ms", IDLE_SECONDS * 1_000) if at_most is None else ("--max-messages", at_most)
    printed = run_tool(
        tools,
        "kafka-console-consumer",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--from-beginning"),
        *("--isolation-level", LEVELS[committed], *ends),
        *(part for each in properties for part in ("--formatter-property", each)),
    )
    seen = defaultdict(list)
    for partition, record in map(_seen, printed.splitlines()):
        seen[partition].append(record)
    return dict(seen)


def as_printed(seen: Seen) -> Seen:
    """What is left of a record once the console has printed it: its bytes as text."""
    headers = tuple((name, _text(value).encode()) for name, value in seen.headers)
    return seen._replace(key=_text(seen.key).encode(), value=_text(seen.value).encode(), headers=headers)


def _seen(line: str) -> tuple[int, Seen]:
    timestamp, partition, offset, headers, key, value = line.split("\t")
    told = [each.split(":", 1) for each in headers.split(",") if headers != "NO_HEADERS"]
    seen = Seen(
        int(offset.removeprefix("Offset:")),
        int(timestamp.split(":")[1]) if ":" in timestamp else -1,
        key.encode(),
        value.encode(),
        tuple((name, text.encode()) for name, text in told),
    )
    return int(partition.removeprefix("Partition:")), seen


def _text(data: bytes | None) -> str:
    """Bytes as Kafka's class of that name prints them."""
    if data is None:
        return "null"
    return "".join(chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x5C else f"\\x{byte:02X}" for byte in data)
