"""`epochlog serve`: copies of brokers' directories, read by clients, and never changed."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import KafkaError

from logstore import TopicPartition
from replication.base.stop_request import StopRequest
from replication.cli.serving import serve_copies as serve_module
from tests.data.replicas import damaged, replicas
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cli.schemas import validate
from tests.replication.cli.served import everything, served
from tests.replication.cluster.serving.clients import READERS

DIVERGED = sorted(replicas("diverged").iterdir())
CODECS = TopicPartition("codecs", 0)
OFFSETS = Path(__file__).parents[3] / "data" / "consumer-offsets"


def test_it_prints_where_brokers_listen_and_what_they_have() -> None:
    with served(*DIVERGED) as document:
        assert [each["copy"] for each in document["brokers"]] == ["broker-1", "broker-2", "broker-3"]
        assert [each["node_id"] for each in document["brokers"]] == [1, 2, 3]
        assert document["bootstrap"] == ",".join(each["address"] for each in document["brokers"])
        assert sum(each["leads"] for each in document["brokers"]) == 9
        assert not document["unserved"]
        seen = READERS["kafka-python"](document["bootstrap"], [CODECS], True)
        assert seen[CODECS]


def test_files_and_their_times_are_the_same_after_each_client(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    before = everything(tmp_path)
    with served(*sorted(tmp_path.iterdir()), "--committed-offsets") as document:
        for reader in READERS.values():
            assert reader(document["bootstrap"], [CODECS, TopicPartition("txns", 0)], True)[CODECS]
    assert everything(tmp_path) == before


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="only root mounts")
def test_a_read_only_mount_is_served(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    mount = f'mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,ro {tmp_path} && exec "$@"'
    prefix = ("unshare", "--mount", "sh", "-c", mount, "sh")
    if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode:
        pytest.skip("mounts are not allowed here")
    with served(*sorted(tmp_path.iterdir()), prefix=prefix) as document:
        assert READERS["aiokafka"](document["bootstrap"], [CODECS], False)[CODECS]


def test_nobody_can_write() -> None:
    with served(*DIVERGED) as document:
        producer = Producer({"bootstrap.servers": document["bootstrap"], "message.timeout.ms": 20_000})
        told: list[object] = []
        producer.produce("codecs", b"value", on_delivery=lambda error, _: told.append(error))
        producer.flush(30)
        assert [error.name() for error in told] == ["TOPIC_AUTHORIZATION_FAILED"]  # type: ignore[attr-defined]
        with pytest.raises(KafkaException):
            Producer({"bootstrap.servers": document["bootstrap"], "transactional.id": "t"}).init_transactions(3)


def test_a_damaged_partition_is_named_and_served_up_to_its_damage(tmp_path: Path) -> None:
    damaged("garbage_tail", tmp_path)
    with served(*sorted(each for each in tmp_path.iterdir() if each.is_dir())) as document:
        (found,) = document["unserved"]
        assert (found["partition"], found["copy"]) == ("steady-1", "broker-1")
        assert "broker-1/steady-1" in found["error"]
        partition = TopicPartition("steady", 1)
        assert READERS["aiokafka"](document["bootstrap"], [partition], False)[partition]


def with_a_flipped_bit(root: Path) -> Path:
    """Damage what only reading finds: a batch of a copy of a broker that stopped cleanly."""
    shutil.copytree(min(replicas("reconciled").iterdir()), root)
    path = max((root / str(CODECS)).glob("*.log"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return path


def test_damage_that_a_client_comes_upon_is_named_once_when_it_does(tmp_path: Path) -> None:
    path = with_a_flipped_bit(tmp_path / "broker-1")
    errors = tmp_path / "errors"
    with errors.open("w") as stream, served(tmp_path / "broker-1", errors=stream) as document:
        assert document["unchecked_bytes"] == sum(each.stat().st_size for each in tmp_path.glob("*/*-*/*.log"))
        assert not document["unserved"]
        for _ in range(2):
            consumer = KafkaConsumer(
                bootstrap_servers=document["bootstrap"], consumer_timeout_ms=1_000, enable_auto_commit=False
            )
            consumer.assign([KafkaPartition(*CODECS)])
            consumer.seek_to_beginning()
            with suppress(KafkaError):
                list(consumer)
            consumer.close()
    (line,) = errors.read_text().splitlines()
    told = json.loads(line)
    validate("serve", told, "found_damage")
    assert (told["partition"], told["copy"], told["file"]) == (str(CODECS), "broker-1", str(path))


def test_with_check_it_is_named_before_anybody_reads(tmp_path: Path) -> None:
    path = with_a_flipped_bit(tmp_path / "broker-1")
    with served(tmp_path / "broker-1", "--check") as document:
        (found,) = document["unserved"]
        assert (found["partition"], found["copy"], found["file"]) == (str(CODECS), "broker-1", str(path))
        assert found["partly_served"]
        assert document["unchecked_bytes"] == 0


def test_a_check_ends_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    told = StopRequest()
    told.make()
    monkeypatch.setattr(serve_module, "until_told", lambda: nullcontext(told))
    assert epochlog("serve", "--read-only", DIVERGED[0], "--check", "--listen", "127.0.0.1:0") == Outcome(0, "", "")


def test_in_words_it_is_said_what_was_not_read(tmp_path: Path) -> None:
    with_a_flipped_bit(tmp_path / "broker-1")
    said = [words_of(tmp_path / "broker-1", *more) for more in ((), ("--check",))]
    assert ["Not read yet: " in each for each in said] == [True, False]
    assert [f"{CODECS} of broker-1: served up to this: {tmp_path}" in each for each in said] == [False, True]


def test_copies_of_which_it_cannot_be_read_whose_they_are_are_named(tmp_path: Path) -> None:
    shutil.copytree(DIVERGED[0], tmp_path / "broker-1")
    (tmp_path / "broker-1" / "meta.properties").write_text("version=7\n")
    assert f"broker-1: whose it is cannot be read, so that it counts as another broker: {tmp_path}" in words_of(
        tmp_path / "broker-1"
    )
    with served(tmp_path / "broker-1") as document:
        assert [each["copy"] for each in document["unidentified"]] == ["broker-1"]


def words_of(*arguments: object) -> str:
    """Return what it says at its start, and end it."""
    command = [sys.executable, "-m", "replication.cli", "serve", "--read-only", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.terminate()
        return first + process.stdout.read()


def test_a_single_partition_is_served() -> None:
    with served(DIVERGED[0] / "codecs-0") as document:
        assert READERS["confluent-kafka"](document["bootstrap"], [CODECS], False)[CODECS]


def test_groups_begin_where_they_had_committed_if_asked() -> None:
    with served(OFFSETS, "--committed-offsets") as document:
        assert document["groups"]
    with served(OFFSETS) as document:
        assert not document["groups"]


def test_a_client_has_to_log_in_where_the_properties_say_so(tmp_path: Path) -> None:
    (tmp_path / "users.json").write_text('{"alice": {"password": "secret"}}')
    (tmp_path / "server.properties").write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.users.file={tmp_path / 'users.json'}\n"
    )
    with served(*DIVERGED, "--config", tmp_path / "server.properties") as document:
        login = {
            "bootstrap_servers": document["bootstrap"],
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_plain_username": "alice",
        }
        consumer = KafkaConsumer(**login, sasl_plain_password="secret")  # noqa: S106
        assert "codecs" in consumer.topics()
        consumer.close()


def test_the_port_of_another_process_is_an_error_of_one_line() -> None:
    with served(DIVERGED[0]) as document:
        outcome = epochlog("serve", "--read-only", DIVERGED[0], "--listen", document["bootstrap"])
    assert outcome.status == 2
    assert "choose an address of this machine, and a port that is free" in outcome.err


def test_a_port_that_is_taken_leaves_no_trace_of_a_program(tmp_path: Path) -> None:
    with served(DIVERGED[0]) as document:
        words = ["serve", "--read-only", DIVERGED[0], "--listen", document["bootstrap"]]
        command = [sys.executable, "-m", "replication.cli", *map(str, words)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1


def test_large_limits_are_taken_as_kafka_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("queued.max.request.bytes=4294967296\nconnections.max.idle.ms=9223372036854775807\n")
    with served(DIVERGED[0], "--config", path) as document:
        assert READERS["kafka-python"](document["bootstrap"], [CODECS], False)[CODECS]


def test_clients_are_told_the_host_that_is_advertised() -> None:
    with served(DIVERGED[0], "--advertise", "localhost") as document:
        assert document["bootstrap"].startswith("localhost:")
        assert READERS["aiokafka"](document["bootstrap"], [CODECS], False)[CODECS]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--read-only", DIVERGED[0], "--validate"), "--validate"),
        (("--read-only", DIVERGED[0], "--listen", "9092"), "a port without a host; write 127.0.0.1:9092"),
        (("--read-only", DIVERGED[0], "--listen", "here:99999"), "HOST:PORT"),
        (("--read-only", DIVERGED[0], "--listen", "a..b:0"), "cannot listen"),
        (("--read-only", *DIVERGED, "--listen", "127.0.0.1:65534"), "the last port is 65535"),
        (("--read-only", "/nowhere"), "/nowhere"),
        (("--read-only", *[DIVERGED[0]] * 2), "same replica"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments: tuple[object, ...], said: str) -> None:
    outcome = epochlog("serve", *arguments)
    assert outcome.status == 2
    assert said in outcome.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max.connection=3", "max.connection: not known here"),
        ("max.connections=many", "max.connections is 'many'"),
        ("security.protocol=TLS", "security.protocol is 'TLS'"),
        ("security.protocol=SSL", "ssl.keystore.location is missing"),
        ("security.protocol=SASL_PLAINTEXT", "sasl.users.file is missing"),
        ("sasl.users.file=users.json", "of no use with security.protocol PLAINTEXT"),
        ("security.protocol=SSL\nssl.keystore.type=JKS", "ssl.keystore.type is 'JKS'"),
    ],
)
def test_wrong_properties_are_named(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(text)
    outcome = epochlog("serve", "--read-only", DIVERGED[0], "--config", path)
    assert outcome.status == 2
    assert str(path) in outcome.err
    assert said in " ".join(outcome.err.split())


def test_salvaged_records_are_served(tmp_path: Path) -> None:
    lost = tmp_path / "lost"
    assert epochlog("salvage", *DIVERGED, "--kept", "broker-2", "--output", lost).status in {0, 1}
    with served(lost) as document:
        partitions = [TopicPartition("diverge", 0), TopicPartition("hwloss", 0)]
        seen = READERS["confluent-kafka"](document["bootstrap"], partitions, True)
        assert [len(seen[each]) for each in partitions] == [120, 120]
