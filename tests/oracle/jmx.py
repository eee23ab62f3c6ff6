"""The metrics of a real broker: its MBeans, and what Prometheus' JMX exporter makes of them.

`prometheus_samples(release, pid)` starts the agent of a Java process that runs already, on loopback, and reads all
MBeans with Kafka's own JmxTool. The names are made as the exporter's example configuration for Kafka makes them: all
lower case, `…PerSec` as `…_total`, percentiles as the label `quantile`.
"""

import re
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from tests.oracle.broker import free_port, java
from tests.oracle.release import KafkaRelease

SECONDS = 300
_AGENT = ("jmxremote.authenticate=false", "jmxremote.ssl=false", "jmxremote.host=127.0.0.1")
_LINE = re.compile(r"(?P<domain>kafka\.[\w.]+):(?P<properties>[^:]*|.*\"):(?P<attribute>[\w -]+)=(?P<value>.*)")
_PROPERTY = re.compile(r'([\w-]+)=("[^"]*"|[^,]*)')
_PERCENTILE = re.compile(r"(\d+)thPercentile")


class Sample(NamedTuple):
    """One line of what Prometheus reads."""

    name: str
    labels: frozenset[tuple[str, str]]


def prometheus_samples(release: KafkaRelease, pid: int) -> dict[Sample, float]:
    """All numbers that a process has, by the names that they would have in Prometheus. Once for each process."""
    port = free_port()
    subprocess.run(["jcmd", str(pid), "ManagementAgent.start", f"jmxremote.port={port}", *_AGENT], check=True)
    url = f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi"
    tool = [*java(release), "org.apache.kafka.tools.JmxTool", "--jmx-url", url, "--one-time", "true"]
    command = [*tool, "--report-format", "properties"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    finally:
        subprocess.run(["jcmd", str(pid), "ManagementAgent.stop"], check=True)
    return dict(_samples(done.stdout))


def _samples(text: str) -> Iterator[tuple[Sample, float]]:
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        labels = {name: value.strip('"') for name, value in _PROPERTY.findall(found["properties"])}
        kind, name = labels.pop("type"), labels.pop("name", None)
        named = _named(name, found["attribute"], labels)
        if named is None:
            continue
        try:
            value = float(found["value"])
        except ValueError:
            continue
        full = f"{found['domain']}_{kind}_{named}".lower()
        yield Sample(re.sub(r"\W", "_", full), frozenset(labels.items())), value


def _named(name: str | None, attribute: str, labels: dict[str, str]) -> str | None:
    """Return the end of a metric's name; None of what the exporter leaves out."""
    if name is None:
        return attribute
    percentile = _PERCENTILE.fullmatch(attribute)
    if percentile:
        labels["quantile"] = f"0.{percentile[1]}"
        return name
    match attribute:
        case "Value":
            return name
        case "Count" if "PerSec" in name:
            return f"{name.partition('PerSec')[0]}_total"
        case "Count":
            return f"{name}_count"
        case "MeanRate" if name.endswith("Percent"):
            return f"{name.removesuffix('Percent')}_percent"
    return None
