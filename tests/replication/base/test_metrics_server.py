"""Metrics over HTTP: whatever is wrong with a request is the end of that request alone."""

import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from replication.base.metrics_server import MetricsServer

SECONDS = 30


class Numbers(Collector):
    """A gauge, or what is raised in place of it."""

    error: Exception | None = None
    padding = ""

    def collect(self) -> Iterator[Metric]:
        if self.error is not None:
            raise self.error
        yield GaugeMetricFamily("answer", f"An answer.{self.padding}", value=42)


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


@pytest.fixture
def server(numbers: Numbers) -> Iterator[MetricsServer]:
    server = MetricsServer(numbers)
    yield server
    server.close()


def scraped(server: MetricsServer, path: str = "/metrics") -> dict[str, float]:
    text = urllib.request.urlopen(f"http://{server.address}{path}", timeout=SECONDS).read().decode()
    return {each.name: each.value for family in text_string_to_metric_families(text) for each in family.samples}


def connected(server: MetricsServer) -> socket.socket:
    host, port = server.address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=SECONDS)


def test_it_is_what_prometheus_reads(server: MetricsServer) -> None:
    assert scraped(server) == scraped(server, "/metrics?") == {"answer": 42}


@pytest.mark.parametrize("path", ["/", "/metrics/more", "/../etc/passwd", "/favicon.ico"])
def test_another_path_is_not_there(server: MetricsServer, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        scraped(server, path)
    refused.value.close()
    assert refused.value.code == 404
    assert scraped(server) == {"answer": 42}


@pytest.mark.parametrize(
    "request_", [b"\0\1\2\n\n", b"POST /metrics HTTP/1.0\r\n\r\n", b"GET /metrics" + b"x" * 70_000]
)
def test_what_is_no_such_request_is_refused(server: MetricsServer, request_: bytes) -> None:
    with connected(server) as client:
        client.sendall(request_ + b"\r\n\r\n")
        assert b"200 OK" not in client.recv(1_000)
    assert scraped(server) == {"answer": 42}


def test_who_reads_slowly_keeps_nobody_waiting(server: MetricsServer, numbers: Numbers) -> None:
    numbers.padding = "x" * 20_000_000  # more than the buffers of a connection take
    slow = [connected(server) for _ in range(3)]
    for each in slow:
        each.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert each.recv(8) == b"HTTP/1.0"
    numbers.padding = ""
    assert scraped(server) == {"answer": 42}
    for each in slow:
        each.close()


def test_more_than_some_at_once_are_hung_up_on_and_later_there_is_room_again(server: MetricsServer) -> None:
    silent = [connected(server) for _ in range(16)]
    with connected(server) as refused:
        assert refused.recv(1) == b""
    for each in silent:
        each.close()
    deadline = time.monotonic() + SECONDS
    while not answers(server):  # until the threads have noticed
        assert time.monotonic() < deadline


def answers(server: MetricsServer) -> bool:
    try:
        return scraped(server) == {"answer": 42}
    except (ConnectionError, urllib.error.URLError):
        return False


def test_metrics_that_cannot_be_collected_are_said_and_the_next_ones_are_served(
    server: MetricsServer, numbers: Numbers, caplog: pytest.LogCaptureFixture
) -> None:
    numbers.error = RuntimeError("the disk is gone")
    with pytest.raises(urllib.error.HTTPError) as failed:
        scraped(server)
    failed.value.close()
    assert failed.value.code == 500
    assert "the disk is gone" in caplog.text
    numbers.error = None
    assert scraped(server) == {"answer": 42}


def test_it_may_be_another_address_of_this_machine() -> None:
    try:
        server = MetricsServer(Numbers(), host="::1")
    except OSError:
        pytest.skip("there is no IPv6 here")
    assert scraped(server) == {"answer": 42}
    server.close()
