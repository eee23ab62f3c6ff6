"""`epochlog serve` without `--read-only`: a broker."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from logstore import Log, TopicPartition
from logstore.directory.log_directory import LogDirectory
from replication.cluster.standalone.formatting import ensure_formatted
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.cli.schemas import validate_output
from tests.replication.cli.served import everything
from tests.replication.cluster.standalone.clients import produce, read

SECONDS = 120


@contextmanager
def broker(*arguments: object, create: bool = True) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Start a broker on a free port, and end it with what is left of it."""
    command = [sys.executable, "-m", "replication.cli", "serve", "--listen", "127.0.0.1:0", "--json"]
    with subprocess.Popen(
        [*command, *["--create"] * create, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            output: IO[str] | None = process.stdout
            assert output is not None
            told = output.readline()
            assert told, f"it ended with {process.wait(SECONDS)}"
            validate_output("serve", told)
            yield process, json.loads(told)
        finally:
            if process.poll() is None:
                process.kill()


def test_a_new_directory_becomes_a_broker_that_keeps_what_clients_produce(tmp_path: Path) -> None:
    root = tmp_path / "data"
    with broker(root) as (process, told):
        assert (told["node_id"], told["partitions"], told["formatted"]) == (1, 0, [str(root)])
        assert not produce(told["bootstrap"], "orders", [b"%d" % number for number in range(100)])
        before = read(told["bootstrap"], "orders")
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    assert (root / ".kafka_cleanshutdown").exists()
    with broker(root) as (process, told):
        assert (told["partitions"], told["leads"], told["formatted"]) == (1, 1, [])
        assert read(told["bootstrap"], "orders") == before


def test_after_a_kill_all_that_was_acknowledged_is_there(tmp_path: Path) -> None:
    with broker(tmp_path / "data") as (process, told):
        assert not produce(told["bootstrap"], "orders", [b"%d" % number for number in range(100)])
        process.kill()
        process.wait(SECONDS)
    with broker(tmp_path / "data") as (_, told):
        assert [each.value for each in read(told["bootstrap"], "orders")] == [b"%d" % number for number in range(100)]
    assert epochlog("verify", tmp_path / "data").status == 0


def test_partitions_without_the_metadata_are_refused_and_nothing_of_them_is_changed(tmp_path: Path) -> None:
    shutil.copytree(min(replicas("diverged").iterdir()), tmp_path / "broker-1")
    before = everything(tmp_path / "broker-1")
    outcome = epochlog("serve", tmp_path / "broker-1", "--listen", "127.0.0.1:0")
    assert outcome.status == 2
    assert "holds partitions, but no directory that is named holds __cluster_metadata-0" in outcome.err
    assert epochlog("serve", tmp_path / "broker-1", "--listen", "127.0.0.1:0", "--validate").status == 1
    assert everything(tmp_path / "broker-1") == before


def test_partitions_that_the_metadata_does_not_know_are_set_aside_and_named(tmp_path: Path) -> None:
    root = tmp_path / "data"
    with broker(root) as (process, _):
        process.terminate()
        process.wait(SECONDS)
    with LogDirectory.open(root) as directory:
        directory.create(TopicPartition("stray", 0)).append([b"kept"])
    with broker(root) as (_, told):
        (stray,) = map(Path, told["strays"])
        assert (stray.parent, stray.name.partition(".")[0]) == (root, "stray-0")
        assert told["partitions"] == 0
    with broker(root) as (_, told):
        assert told["strays"] == [str(stray)]
    with Log.reader(stray) as log:
        assert [each.value for each in log.records()] == [b"kept"]
    assert epochlog("verify", root).status == 0


def test_a_directory_that_is_open_is_refused(tmp_path: Path) -> None:
    with broker(tmp_path / "data") as (_, told):
        outcome = epochlog("serve", tmp_path / "data", "--listen", "127.0.0.1:0")
        assert (outcome.status, told["node_id"]) == (2, 1)
        assert "locked" in outcome.err
        checked = epochlog("serve", tmp_path / "data", "--listen", "127.0.0.1:0", "--validate")
        assert checked.status == 1
        assert "locked" in checked.err


def test_what_is_no_brokers_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    outcome = epochlog("serve", tmp_path, "--listen", "127.0.0.1:0")
    assert outcome.status == 2
    assert "meta.properties" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("exists", [False, True], ids=["missing", "empty"])
def test_no_broker_is_made_of_a_mistyped_path_unless_asked_for(tmp_path: Path, exists: bool) -> None:
    root = tmp_path / "dtaa"
    if exists:
        root.mkdir()
    outcome = epochlog("serve", root, "--listen", "127.0.0.1:0")
    validated = epochlog("serve", root, "--listen", "127.0.0.1:0", "--validate")
    assert (outcome.status, validated.status) == (2, 1)
    for each in (outcome, validated):
        assert each.err.count("\n") == 1
        assert f"{root} {'is empty' if exists else 'does not exist'}, and no broker is made unasked" in each.err
        assert "add --create" in each.err
    assert list(tmp_path.rglob("*")) == ([root] if exists else [])


def test_a_new_directory_among_a_brokers_own_is_refused_too_and_none_is_changed(tmp_path: Path) -> None:
    ensure_formatted([tmp_path / "one"])
    before = everything(tmp_path / "one")
    outcome = epochlog("serve", tmp_path / "one", tmp_path / "tow", "--listen", "127.0.0.1:0", "--json")
    assert (outcome.status, outcome.document["error"]["file"]) == (2, str(tmp_path / "tow"))
    assert everything(tmp_path / "one") == before
    assert not (tmp_path / "tow").exists()


def test_a_directory_that_was_formatted_first_is_served_as_it_is(tmp_path: Path) -> None:
    ensure_formatted([tmp_path / "data"], 7)
    assert epochlog("serve", tmp_path / "data", "--validate").status == 0
    with broker(tmp_path / "data", create=False) as (_, told):
        assert (told["node_id"], told["formatted"]) == (7, [])


def test_copies_that_are_only_read_are_never_made(tmp_path: Path) -> None:
    outcome = epochlog("serve", "--read-only", tmp_path / "copy", "--create")
    assert outcome.status == 2
    assert "--create" in outcome.err


class TestValidate:
    def test_it_starts_and_changes_nothing(self, tmp_path: Path) -> None:
        with LogDirectory.open(tmp_path / "other"):
            pass
        outcome = epochlog("serve", tmp_path / "data", "--create", "--validate", "--listen", "127.0.0.1:0")
        assert outcome.status == 0
        assert not (tmp_path / "data").exists()

    def test_it_says_all_that_is_wrong_with_the_properties(self, tmp_path: Path) -> None:
        path = tmp_path / "server.properties"
        path.write_text("log.retention.ms=soon\nauto.create.topics.enable=perhaps\nzookeeper.connect=here\n")
        outcome = epochlog("serve", tmp_path / "data", "--validate", "--config", path)
        assert outcome.status == 1
        for fault in ("log.retention.ms is 'soon'", "must be true or false", "zookeeper.connect: not known here"):
            assert fault in outcome.err

    def test_it_says_all_that_is_wrong_with_the_directories(self, tmp_path: Path) -> None:
        (tmp_path / "one").mkdir()
        (tmp_path / "one" / "letter.txt").write_text("dear")
        shutil.copytree(min(replicas("diverged").iterdir()), tmp_path / "two")
        shutil.copytree(tmp_path / "two", tmp_path / "three")
        outcome = epochlog("serve", *(tmp_path / name for name in ("one", "two", "three")), "--validate", "--json")
        assert outcome.status == 1
        validate_output("serve", outcome.out)
        assert len(json.loads(outcome.out)["faults"]) == 3


@pytest.mark.parametrize("option", [("--check",), ("--committed-offsets",), ("--leader-choice", "advise")])
def test_options_of_copies_are_refused(tmp_path: Path, option: tuple[str, ...]) -> None:
    outcome = epochlog("serve", tmp_path / "data", *option)
    assert outcome.status == 2
    assert "--read-only" in outcome.err


def test_its_settings_hold_for_topics_that_have_none_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("message.max.bytes=100\nnode.id=7\n")
    with broker(tmp_path / "data", "--config", path) as (_, told):
        assert told["node_id"] == 7
        assert produce(told["bootstrap"], "orders", [b"x" * 1_000])


AUTHORIZED = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"


@pytest.mark.parametrize(
    ("more", "refused"),
    [("", True), ("super.users=User:admin;User:ANONYMOUS\n", False), ("allow.everyone.if.no.acl.found=true\n", False)],
    ids=["nobody has rights", "super users", "everyone"],
)
def test_who_has_no_right_to_a_topic_is_refused(tmp_path: Path, more: str, refused: bool) -> None:
    path = tmp_path / "server.properties"
    path.write_text(AUTHORIZED + more)
    with broker(tmp_path / "data", "--config", path) as (_, told):
        errors = produce(told["bootstrap"], "orders", [b"one"], **{"message.timeout.ms": 5_000})
        assert bool(errors) is refused
        assert all("TOPIC_AUTHORIZATION_FAILED" in error for error in errors)


@pytest.mark.parametrize("text", ["authorizer.class.name=com.example.Mine\n", "super.users=User:admin\n"])
def test_an_authorizer_that_is_not_there_keeps_the_broker_from_starting(tmp_path: Path, text: str) -> None:
    path = tmp_path / "server.properties"
    path.write_text(text)
    outcome = epochlog("serve", tmp_path / "data", "--validate", "--config", path)
    assert outcome.status == 1
    assert "authorizer.class.name" in outcome.err
