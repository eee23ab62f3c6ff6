"""What `epochlog mirror` says without a cluster: of arguments, of brokers that do not answer, and of events."""

import errno
import io
import json
import os
import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cli.output.printing import OutputError, StandardOutput
from replication.cli.serving import mirror_display
from replication.cli.serving.log_format import LogFormat
from replication.cli.serving.mirror_display import (
    Display,
    JsonDisplay,
    PlainDisplay,
    TerminalDisplay,
    display_for,
    log_time,
)
from replication.cluster.fetcher.fetch_observer import Cut
from replication.cluster.fetcher.removed_records import RemovedRecords
from replication.cluster.mirror.events import Disconnected, Event, Failed, LeaderChanged, Refused, Truncated, Waiting
from replication.cluster.mirror.status import PartitionStatus, Tally
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from tests.replication.cli.command import epochlog
from tests.replication.cli.schemas import validate_output
from tests.replication.wire.certificates import Authority
from tests.replication.wire.fake_broker import FakeBroker, framed, greet, receive

ORDERS = TopicPartition("orders", 3)
STATUS = PartitionStatus(ORDERS, "fetching", "", 7, 10, 420, 400, 25, Tally(bytes=3_000_000))
EVENTS: tuple[Event, ...] = (
    LeaderChanged(ORDERS, 2, 8, 420),
    Truncated(Cut(ORDERS, 300, 0, 420, 400, 8, "why"), RemovedRecords(300, 120, 9_000), Path("cut/orders-3/1.log")),
    Refused(ORDERS, "nonsense"),
    Waiting(TopicPartition("orders", 4), "it has no leader now"),
    Disconnected("broker1:9092", "broker1:9092: it hung up"),
    Failed(ORDERS, "the disk is full"),
)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that is nobody's, and stays so."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def mirror(tmp_path: Path, *more: object, bootstrap: str = "127.0.0.1:1") -> tuple[int, str]:
    told = epochlog("mirror", "--bootstrap", bootstrap, "--topics", "orders", "--output", tmp_path / "copy", *more)
    assert told.out == ""
    return told.status, told.err


def test_brokers_that_do_not_answer_are_named_in_one_line_and_nothing_is_made(tmp_path: Path, closed_port: int) -> None:
    status, said = mirror(tmp_path, bootstrap=f"127.0.0.1:{closed_port}")
    assert status == 2
    assert said.count("\n") == 1
    assert f"127.0.0.1:{closed_port}" in said
    assert "refused" in said
    assert not (tmp_path / "copy").exists()


def test_a_wrong_password_is_one_line(tmp_path: Path) -> None:
    def refuse(stream: socket.socket) -> None:
        greet(stream)
        asked = receive(stream)
        shaken = response_classes(17, asked.version).SaslHandshakeResponse
        stream.sendall(framed(asked.correlation_id, shaken(error_code=ErrorCode.NONE, mechanisms=("PLAIN",))))
        asked = receive(stream)
        answer = response_classes(36, asked.version).SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
            error_message="Invalid username or password",
            auth_bytes=b"",
        )
        stream.sendall(framed(asked.correlation_id, answer))

    login = 'required username="alice" password="wrong";'
    config = tmp_path / "client.properties"
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=Login {login}\n")
    with FakeBroker(refuse) as broker:
        status, said = mirror(tmp_path, "--command-config", config, bootstrap=str(broker.address))
    assert (status, said.count("\n")) == (2, 1)
    assert f"{broker.address}: authentication failed: the broker refuses alice with PLAIN: Invalid username" in said
    assert not (tmp_path / "copy").exists()


def test_a_certificate_that_is_refused_is_one_line(tmp_path: Path) -> None:
    own, stranger = Authority(tmp_path, "own"), Authority(tmp_path, "stranger")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.issue("broker", "127.0.0.1").both)
    config = tmp_path / "client.properties"
    trusted = f"ssl.truststore.type=PEM\nssl.truststore.location={stranger.certificate}\n"
    config.write_text(f"security.protocol=SSL\n{trusted}")
    with FakeBroker(lambda stream: context.wrap_socket(stream, server_side=True).close()) as broker:
        status, said = mirror(tmp_path, "--command-config", config, bootstrap=str(broker.address))
    assert (status, said.count("\n")) == (2, 1)
    assert f"{broker.address}: the broker's certificate is refused" in said
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--topics", "two", "--partition", "1"), "--partition: it needs exactly one name in --topics"),
        (("--partition", "-1"), "--partition"),
        (("--metrics-listener", "nowhere"), "'nowhere' is not a [HOST:]PORT"),
        (("--metrics-listener", "127.0.0.1:70000"), "'127.0.0.1:70000' is not a [HOST:]PORT"),
        (("--throttle", "fast"), "'fast' is not a number of bytes"),
        (("--throttle", "0"), "'0' is not a number of bytes"),
        (("--command-config", "/nowhere/at.all"), "/nowhere/at.all: No such file"),
        (("--threads", "0"), "--threads"),
        (("--log-format", "xml"), "'xml' is not one of 'text', 'json'"),
    ],
)
def test_arguments_that_cannot_be_are_refused_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    status, complaint = mirror(tmp_path, *arguments)
    assert status == 2
    assert complaint.count("\n") == 1
    assert said in complaint


def test_a_log_is_not_text_and_json(tmp_path: Path) -> None:
    options = ("--bootstrap", "127.0.0.1:1", "--topics", "orders", "--output", tmp_path / "copy")
    told = epochlog("mirror", *options, "--json", "--log-format", "text")
    assert told.status == 2
    assert "with --json the log is not text" in told.err


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    status, said = mirror(tmp_path, bootstrap="broker1")
    assert status == 2
    assert "'broker1' is not an address" in said


def test_an_unsupported_property_is_named(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=SSL\nssl.truststore.certificates=...\n")
    status, said = mirror(tmp_path, "--command-config", path)
    assert status == 2
    assert f"{path}: ssl.truststore.certificates: not supported" in said


def test_a_trust_store_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path, store = tmp_path / "client.properties", tmp_path / "ca.jks"
    store.write_bytes(b"nonsense")
    path.write_text(f"security.protocol=SSL\nssl.truststore.location={store}\n")
    status, said = mirror(tmp_path, "--command-config", path)
    assert (status, said.count("\n")) == (2, 1)
    assert f"{store}: it is neither PKCS12 nor JKS" in said


def test_lines_begin_with_their_time_to_the_millisecond_in_utc() -> None:
    assert log_time(0) == "1970-01-01T00:00:00.000Z"
    assert log_time(1_795_278_974_007) == "2026-11-21T16:36:14.007Z"


@given(st.integers(0, 253_402_300_799_999))
def test_a_lines_time_is_the_events_own(time_ms: int) -> None:
    at = datetime.fromisoformat(log_time(time_ms))
    assert (at - datetime.fromtimestamp(0, UTC)) == timedelta(milliseconds=time_ms)


@pytest.mark.parametrize("option", [("--json",), ("--log-format", "json"), ("--log-format=json",)])
def test_where_json_is_asked_for_a_failure_is_an_object_too(
    tmp_path: Path, option: tuple[str, ...], closed_port: int
) -> None:
    bootstrap = f"127.0.0.1:{closed_port}"
    told = epochlog("mirror", "--bootstrap", bootstrap, "--topics", "orders", "--output", tmp_path / "copy", *option)
    assert told.status == 2
    validate_output("mirror", told.out)
    assert json.loads(told.out)["error"]["class"] == "NoBrokerError"


def test_in_a_pipe_each_event_is_a_line_and_failures_are_complaints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_display, "now_ms", lambda: 1_795_278_974_007)
    display = PlainDisplay()
    for event in EVENTS:
        display.tell(event)
    display.show(lambda: [STATUS], last=True)
    below_and_kept = ", some below the high watermark 400; why; kept in cut/orders-3/1.log"
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert all(line.startswith("2026-11-21T16:36:14.007Z ") for line in lines)
    assert [line.partition(" ")[2] for line in lines] == [
        "orders-3: broker 2 leads in epoch 8; fetching from offset 420",
        f"orders-3: truncated to 300 from 420 under leader epoch 8: 120 records in 9,000 bytes removed{below_and_kept}",
        "orders-3: nonsense",
        "orders-4: waiting: it has no leader now",
        "broker1:9092: it hung up",
        "1 partition, 3.0 MB copied, 0.0 MB/s, 1 behind by 25 offsets",
    ]
    assert told.err == "2026-11-21T16:36:14.007Z epochlog: orders-3: failed: the disk is full\n"


def test_in_a_pipe_progress_is_told_when_time_has_passed_and_something_has_changed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    later = replace(STATUS, lag=0, tally=Tally(bytes=23_000_000))
    looks = ((0, STATUS), (9_999, later), (10_000, later), (20_000, later), (30_000, later))
    display = PlainDisplay()
    for moment, status in looks:
        monkeypatch.setattr(mirror_display, "now_ms", lambda moment=moment: moment)
        display.show(lambda status=status: [status])  # type: ignore[misc]
    assert capsys.readouterr().out.splitlines() == [
        "1970-01-01T00:00:00.000Z 1 partition, 3.0 MB copied, 0.0 MB/s, 1 behind by 25 offsets",
        "1970-01-01T00:00:10.000Z 1 partition, 23.0 MB copied, 2.0 MB/s, caught up",
    ]


def test_json_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    display = JsonDisplay()
    for event in EVENTS:
        display.tell(event)
    display.show(lambda: [STATUS])
    printed = capsys.readouterr().out
    validate_output("mirror", printed)
    documents = [json.loads(line) for line in printed.splitlines()]
    kinds = ["leader-changed", "truncated", "refused", "waiting", "disconnected", "failed", "progress"]
    assert [document["event"] for document in documents] == kinds
    assert all(document["time"] > 0 for document in documents)
    assert documents[1]["kept"] == "cut/orders-3/1.log"
    assert documents[-1]["lag"] == 25


def test_a_terminal_shows_those_that_are_furthest_behind_and_keeps_the_events(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}.items():
        monkeypatch.setitem(os.environ, name, value)
    display: Display = TerminalDisplay()
    for event in EVENTS:
        display.tell(event)
    many = [replace(STATUS, partition=TopicPartition("orders", number), lag=number) for number in range(99)]
    display.show(lambda: many)
    display.show(lambda: many, last=True)
    told = capsys.readouterr().out
    assert re.search(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z orders-3: truncated to 300", told)
    assert "orders-98" in told
    assert "orders-50" not in told
    assert "99 partitions" in told


@pytest.mark.parametrize("kind", [PlainDisplay, JsonDisplay, TerminalDisplay])
def test_an_output_that_is_gone_is_no_matter_of_who_tells_an_event(
    kind: type[Display], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    display = kind()
    monkeypatch.setattr("sys.stdout", StandardOutput(Gone()))
    display.tell(EVENTS[0])
    with pytest.raises(OutputError):
        display.show(lambda: [STATUS], last=True)


def test_where_the_output_goes_decides_how_it_looks(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(display_for(None), PlainDisplay)
    assert capsys.readouterr().out == ""


def test_a_format_that_is_asked_for_is_used_on_a_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert isinstance(display_for(LogFormat.JSON), JsonDisplay)
    assert isinstance(display_for(LogFormat.TEXT), PlainDisplay)
    by_itself = display_for(None)
    by_itself.close()
    assert isinstance(by_itself, TerminalDisplay)
