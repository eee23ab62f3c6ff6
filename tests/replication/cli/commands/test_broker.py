"""`epochlog format` and `epochlog broker`: what they print, and what they refuse."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import LogFile, Record
from logstore.directory.log_directories import LogDirectories
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from replication.cluster.controller.controller import ControllerSettings
from replication.cluster.controller.decision import Decision
from replication.records.metadata.records import FeatureLevelRecord
from replication.standalone import StandaloneController
from replication.wire.addresses import Address
from replication.wire.client.connection import Connection
from replication.wire.encoding.kio_messages import request_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.api_versions import ApiVersionsRequest
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.cli.schemas import validate, validate_output
from tests.replication.cli.served import everything
from tests.replication.cli.settings.joining import SECONDS, joined, lone_properties
from tests.replication.cluster.node.metrics.scraping import Scrape, scraped
from tests.replication.cluster.standalone.clients import produce

CLUSTER = "remote-cluster-0000000"
NOBODY = "127.0.0.1:1"
LOG_DIRS = 35


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    listener = ListenerSettings(name="CONTROLLER", address=Address("127.0.0.1", 0))
    directory = tmp_path_factory.mktemp("controller")
    with StandaloneController.open(directory, listener, node_id=100, cluster_id=CLUSTER) as controller:
        yield str(controller.server.address)


@contextmanager
def led(
    directory: Path,
    settings: ControllerSettings = ControllerSettings(),  # noqa: B008  it is frozen
) -> Iterator[StandaloneController]:
    """A controller of its own for a test that spoils the metadata."""
    listener = ListenerSettings(name="CONTROLLER", address=Address("127.0.0.1", 0))
    with StandaloneController.open(directory, listener, settings, node_id=100, cluster_id=CLUSTER) as controller:
        yield controller


def finalize(controller: StandaloneController, name: str, level: int) -> None:
    """Let the cluster work at a level, known or not."""
    record = FeatureLevelRecord(name=name, feature_level=level)
    controller.controller.decide(lambda _: Decision([record], None))


def append_unknown(controller: StandaloneController) -> None:
    """Write a record of a type that is not known, and another one that wakes who follows."""
    metadata = controller.controller.metadata
    unknown = Record(-1, 0, None, bytes([1, 120, 0, 0]))
    metadata.log.append([unknown], leader_epoch=metadata.leader_epoch)
    metadata.log.flush()
    metadata.log.advance_high_watermark(metadata.log.log_end_offset)


def apart_from_metadata(root: Path) -> dict[Path, tuple[int, bytes]]:
    """The content of what a broker has, but for the directory of the metadata and what is made beside it."""
    return {
        path: (path.stat().st_size, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file() and not {"__cluster_metadata-0", "elsewhere"} & set(path.parts)
    }


def formatted(config: Path, cluster_id: str = CLUSTER) -> Path:
    assert epochlog("format", "--config", config, "--cluster-id", cluster_id).status == 0
    return config


def test_format_makes_new_directories_a_brokers(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    config = lone_properties(tmp_path, NOBODY, log_dirs=",".join(map(str, roots)))
    document = epochlog("format", "--config", config, "--cluster-id", CLUSTER, "--json").document
    assert (document["formatted"], document["left_alone"]) == (list(map(str, roots)), [])
    again = epochlog("format", "--config", config, "--cluster-id", CLUSTER)
    assert again.status == 2
    assert "formatted already" in again.err
    shutil.rmtree(roots[1])
    document = epochlog("format", "--config", config, "--cluster-id", CLUSTER, "--ignore-formatted", "--json").document
    assert (document["formatted"], document["left_alone"]) == ([str(roots[1])], [str(roots[0])])


def test_format_takes_a_cluster_id_without_what_was_pasted_around_it(tmp_path: Path) -> None:
    config = lone_properties(tmp_path, NOBODY)
    refused = epochlog("format", "--config", config, "--cluster-id", " ")
    assert (refused.status, "--cluster-id names no cluster" in refused.err) == (2, True)
    assert epochlog("format", "--config", config, "--cluster-id", f" {CLUSTER}\n").status == 0
    assert MetaProperties.read(tmp_path / "ours-9" / META_PROPERTIES_NAME).cluster_id == CLUSTER


def test_format_changes_nothing_where_a_directory_is_somebody_elses(tmp_path: Path) -> None:
    config = formatted(lone_properties(tmp_path, NOBODY))
    roots = f"{tmp_path / 'ours-9'},{tmp_path / 'new'}"
    more, other_node = (lone_properties(tmp_path, NOBODY, node, log_dirs=roots) for node in (9, 8))
    before = everything(tmp_path)
    for file, cluster_id in ((more, "another"), (other_node, CLUSTER)):
        assert epochlog("format", "--config", file, "--cluster-id", cluster_id, "--ignore-formatted").status == 2
    assert everything(tmp_path) == before
    assert config == more


def test_it_joins_our_own_controller_and_prints_what_it_has(tmp_path: Path, controller: str) -> None:
    config = formatted(lone_properties(tmp_path, controller, log_cleaner_threads=2))
    with joined(config) as (process, told):
        assert (told["node_id"], told["cluster_id"], told["partitions"]) == (9, CLUSTER, 0)
        assert told["passed_over"] == ["log.cleaner.threads"]
        second = epochlog("broker", "--config", config)
        assert second.status == 2
        assert "locked" in second.err
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    assert (tmp_path / "ours-9" / ".kafka_cleanshutdown").exists()


def test_its_copy_of_the_metadata_may_lie_apart(tmp_path: Path, controller: str) -> None:
    config = formatted(lone_properties(tmp_path, controller, 6, metadata_log_dir=tmp_path / "apart"))
    assert (tmp_path / "apart" / "meta.properties").exists()
    for _ in range(2):
        with joined(config) as (process, _told):
            process.terminate()
            assert process.wait(SECONDS) == 0
        assert (tmp_path / "apart" / "__cluster_metadata-0").is_dir()
        assert not (tmp_path / "ours-6" / "__cluster_metadata-0").exists()


def test_a_root_whose_disk_fails_is_offline_and_a_cordoned_one_is_told_as_such(tmp_path: Path, controller: str) -> None:
    sound, failed = tmp_path / "sound", tmp_path / "failed"
    config = formatted(
        lone_properties(tmp_path, controller, 5, log_dirs=f"{sound},{failed}", cordoned_log_dirs=f"{sound},{failed}")
    )
    shutil.rmtree(failed)
    failed.write_text("no directory")
    validated = epochlog("broker", "--config", config, "--validate")
    assert validated.status == 0
    assert "failed: offline, with all that lies there" in " ".join(validated.err.split())
    with joined(config) as (process, told), Connection.open(told["bootstrap"]) as connection:
        answer = connection.ask(request_classes(LOG_DIRS, 5).DescribeLogDirsRequest(topics=None))
        process.terminate()
        assert process.wait(SECONDS) == 0
    assert [(each.log_dir, each.error_code, each.is_cordoned) for each in answer.results] == [
        (str(sound), ErrorCode.NONE, True),
        (str(failed), ErrorCode.KAFKA_STORAGE_ERROR, False),
    ]


def test_features_that_are_finalized_while_it_runs_are_told(tmp_path: Path) -> None:
    with led(tmp_path / "elsewhere") as controller:
        config = formatted(lone_properties(tmp_path, str(controller.server.address)))
        asked = ApiVersionsRequest(client_software_name="test", client_software_version="1", asked_in=range(3, 4))
        with joined(config) as (_, told), Connection.open(told["bootstrap"]) as connection:
            assert "transaction.version" not in connection.ask(asked).finalized_features
            finalize(controller, "transaction.version", 2)
            deadline = time.monotonic() + SECONDS
            while connection.ask(asked).finalized_features.get("transaction.version") != range(2, 3):
                assert time.monotonic() < deadline


def test_it_serves_metrics_and_says_what_happens_to_its_partitions(tmp_path: Path, controller: str) -> None:
    config = formatted(lone_properties(tmp_path, controller, 4, metrics_listener="127.0.0.1:0"))
    log = tmp_path / "broker.log"
    with log.open("w") as errors, joined(config, errors) as (process, told):
        assert scraped(told["metrics"]).value("kafka_server_kafkaserver_brokerstate") == 3
        admin = AdminClient({"bootstrap.servers": told["bootstrap"]})
        admin.create_topics([NewTopic("said", 1, 1)])["said"].result(SECONDS)
        while not log.read_text():
            pass
        process.terminate()
        assert process.wait(SECONDS) == 0
    events = [json.loads(line) for line in log.read_text().splitlines()]
    lines = [each for each in events if each["event"] == "role-change"]
    for line in lines:
        validate("broker", line, "role_changed")
    leaving, left = (each for each in events if each not in lines)
    assert (leaving["event"], left["event"], left["in_order"]) == ("leaving", "left", True)
    assert {(each["event"], each["topic"], each["partition"]) for each in lines} == {("role-change", "said", 0)}
    roles = [each["from"] for each in lines] + [lines[-1]["to"]]
    # As it leaves in order the controller takes the leadership first.
    assert roles in (["none", "leader", "none"], ["none", "leader", "follower", "none"])


def test_after_a_crash_it_says_what_recovery_has_cut_off(tmp_path: Path) -> None:
    """One replica, whose records are acknowledged before they are flushed: nobody else has those behind the damage."""
    with led(tmp_path / "elsewhere", ControllerSettings(broker_session_timeout_ms=3_000)) as controller:
        address = str(controller.server.address)
        config = formatted(lone_properties(tmp_path, address, 3, metrics_listener="127.0.0.1:0"))
        with joined(config) as (_killed, told):
            admin = AdminClient({"bootstrap.servers": told["bootstrap"]})
            admin.create_topics([NewTopic("solo", 1, 1)])["solo"].result(SECONDS)
            for tens in range(10):
                assert produce(told["bootstrap"], "solo", [b"%d%d" % (tens, number) for number in range(10)]) == []
        directory = tmp_path / "ours-3" / "solo-0"
        with LogFile.open(directory / f"{0:020d}.log") as log:
            batches = [(batch.base_offset, batch.position, log.size) for batch in log.batches()]
        offset, position, size = batches[len(batches) // 2]
        flip_byte(directory / f"{0:020d}.log", position + 61)
        cut, directory_told, metrics = recovered(config)
        validate("broker", cut, "recovery_truncated")
        assert (cut["topic"], cut["partition"], cut["directory"]) == ("solo", 0, str(directory))
        assert (cut["file"], cut["position"], cut["bytes"]) == (f"{0:020d}.log", position, size - position)
        assert (cut["from"], cut["to"], cut["records"]) == (100, offset, 100 - offset)
        assert cut["why"] == "a batch's checksum does not match"
        validate("broker", directory_told, "directory_recovered")
        assert (directory_told["logs"], directory_told["truncated_logs"], directory_told["bytes"]) == (1, 1, size)
        name = "epochlog_broker_recovery_truncat"
        below = {True: "true", None: "unknown"}[cut["below_high_watermark"]]
        assert metrics.value(f"{name}ions_total", below_high_watermark=below) == 1
        assert metrics.value(f"{name}ed_records_total") == 100 - offset
        assert metrics.value(f"{name}ed_bytes_total") == size - position


def flip_byte(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def recovered(config: Path) -> tuple[dict[str, Any], dict[str, Any], Scrape]:
    """Start a broker after a crash, and return what it says of recovery, and its metrics."""
    errors = config.parent / "recovered.log"
    with errors.open("w") as file, joined(config, file) as (process, told):
        metrics = scraped(told["metrics"])
        process.terminate()
        assert process.wait(SECONDS) == 0
    lines = [json.loads(line) for line in errors.read_text().splitlines()]
    cut, directory = (each for each in lines if each["event"].startswith("recovery"))
    return cut, directory, metrics


class TestStopsWhileItStarts:
    """SIGTERM is heard by whatever a start waits for, which is told; the exit status is that of any stop."""

    def test_as_it_waits_for_a_controller(self, tmp_path: Path) -> None:
        config = formatted(lone_properties(tmp_path, NOBODY, initial_broker_registration_timeout_ms=600_000))
        before = everything(tmp_path)
        trouble = self.stopped(config)
        assert "no active controller answers: 127.0.0.1:1: cannot connect" in trouble["why"]
        assert everything(tmp_path) == before

    def test_as_it_waits_for_an_old_session(self, tmp_path: Path, controller: str) -> None:
        (tmp_path / "copy").mkdir()
        first = formatted(lone_properties(tmp_path, controller, 7))
        same = lone_properties(tmp_path / "copy", controller, 7, initial_broker_registration_timeout_ms=600_000)
        with joined(first):
            trouble = self.stopped(formatted(same))
        assert "DUPLICATE_BROKER_REGISTRATION" in trouble["why"]
        assert (tmp_path / "copy" / "ours-7" / ".kafka_cleanshutdown").exists()

    @staticmethod
    def stopped(config: Path) -> dict[str, str]:
        """Start a broker, let it end as soon as it has told what it waits for, and return that."""
        command = [sys.executable, "-m", "replication.cli", "broker", "--config", str(config), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                trouble: dict[str, str] = json.loads(process.stderr.readline())
                process.terminate()
                out, rest = process.communicate(timeout=SECONDS)
            finally:
                if process.poll() is None:
                    process.kill()
        validate("broker", trouble, "trouble_began")
        assert (process.returncode, out) == (0, "")
        assert "told to stop before it had joined" in rest
        return trouble


class TestRefusals:
    """Exit status 2, the reason as the last line after what it waited for, and nothing is changed."""

    def test_a_port_for_metrics_that_is_taken(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            config = formatted(lone_properties(tmp_path, NOBODY, metrics_listener=port))
            self.refused(config, f"cannot serve metrics at 127.0.0.1:{port}; choose another port")

    def test_another_cluster(self, tmp_path: Path, controller: str) -> None:
        config = formatted(lone_properties(tmp_path, controller), "another-cluster-000000")
        self.refused(config, "the metadata of cluster another-cluster-000000 is refused: INCONSISTENT_CLUSTER_ID")

    def test_a_controller_that_does_not_answer(self, tmp_path: Path) -> None:
        properties = lone_properties(tmp_path, NOBODY, initial_broker_registration_timeout_ms=500)
        told = self.refused(formatted(properties), "no active controller answers", waits=True)
        assert "event=trouble what=controller" in told.splitlines()[0]

    def test_a_cluster_that_has_nobody_who_coordinates(self, tmp_path: Path, controller: str) -> None:
        given = {"start_without_coordinators": "false", "initial_broker_registration_timeout_ms": 6_000}
        outcome = epochlog("broker", "--config", formatted(lone_properties(tmp_path, controller, 2, **given)))
        waited_for, *_, reason = outcome.err.splitlines()
        assert "event=trouble what=other-brokers" in waited_for
        assert "set start.without.coordinators=true if groups" in reason
        assert outcome.status == 2

    def test_another_nodes_directories(self, tmp_path: Path) -> None:
        formatted(lone_properties(tmp_path, NOBODY))
        other = lone_properties(tmp_path, NOBODY, 8, log_dirs=tmp_path / "ours-9")
        self.refused(other, "node 9's by its meta.properties, and node.id is 8")

    def test_mixed_directories(self, tmp_path: Path) -> None:
        formatted(lone_properties(tmp_path, NOBODY))
        formatted(lone_properties(tmp_path, NOBODY, 8))
        both = f"{tmp_path / 'ours-9'},{tmp_path / 'ours-8'}"
        self.refused(lone_properties(tmp_path, NOBODY, log_dirs=both), "belongs to node")

    def test_directories_that_were_never_formatted(self, tmp_path: Path) -> None:
        shutil.copytree(min(replicas("diverged").iterdir()) / "txns-0", tmp_path / "ours-9" / "txns-0")
        self.refused(lone_properties(tmp_path, NOBODY), "it holds files and no meta.properties")

    def test_directories_of_several_clusters(self, tmp_path: Path) -> None:
        roots = [tmp_path / name for name in ("ours-9", "new")]
        formatted(lone_properties(tmp_path, NOBODY))
        formatted(lone_properties(tmp_path, NOBODY, log_dirs=roots[1]), "another-cluster-000000")
        both = lone_properties(tmp_path, NOBODY, log_dirs=",".join(map(str, roots)))
        self.refused(both, "to node 9 in cluster another-cluster-000000")

    def test_directories_that_are_open_already(self, tmp_path: Path) -> None:
        config = formatted(lone_properties(tmp_path, NOBODY))
        with LogDirectories.open([tmp_path / "ours-9"]):
            self.refused(config, "the log directory is locked")

    @pytest.mark.parametrize(
        ("name", "level", "known", "advice"),
        [
            ("transaction.version", 9, "known here are 0 to 2", "lower the level"),
            ("metadata.version", 90, "known here are 7 to", "join it with a later epochlog"),
            ("metadata.version", 4, "known here are 7 to", "; raise the level with kafka-features.sh"),
            ("flying.version", 1, "not known here", "lower the level"),
        ],
    )
    def test_features_at_levels_that_it_does_not_know(
        self, tmp_path: Path, name: str, level: int, known: str, advice: str
    ) -> None:
        with led(tmp_path / "elsewhere") as controller:
            finalize(controller, name, level)
            config = formatted(lone_properties(tmp_path, str(controller.server.address)))
            reason = f"the cluster has finalized {name} at level {level} ({known}"
            assert advice in self.refused(config, reason, beside="elsewhere")

    @pytest.mark.parametrize("is_new", [True, False], ids=["at the first start", "at a later one"])
    def test_metadata_records_that_a_later_kafka_has_written(self, tmp_path: Path, is_new: bool) -> None:
        """Its own copy of the metadata has them by then, as that of a Kafka broker would."""
        with led(tmp_path / "elsewhere") as controller:
            config = formatted(lone_properties(tmp_path, str(controller.server.address)))
            if not is_new:
                with joined(config) as (process, _):
                    process.send_signal(signal.SIGTERM)
                    assert process.wait(SECONDS) == 0
            append_unknown(controller)
            before = apart_from_metadata(config.parent)
            outcome = epochlog("broker", "--config", config)
            assert outcome.status == 2
            waited_for, reason = outcome.err.splitlines()
            assert "event=trouble what=controller" in waited_for
            assert "a later Kafka" in reason
            assert apart_from_metadata(config.parent) == before

    def test_metadata_records_that_a_later_kafka_writes_while_it_runs(self, tmp_path: Path) -> None:
        with led(tmp_path / "elsewhere") as controller:
            config = formatted(lone_properties(tmp_path, str(controller.server.address)))
            with joined(config) as (process, _):
                append_unknown(controller)
                assert process.wait(SECONDS) == 2

    def test_an_id_that_another_process_has(self, tmp_path: Path, controller: str) -> None:
        (tmp_path / "copy").mkdir()
        first = formatted(lone_properties(tmp_path, controller, 7))
        same = lone_properties(tmp_path / "copy", controller, 7, initial_broker_registration_timeout_ms=2_000)
        with joined(first):
            outcome = epochlog("broker", "--config", formatted(same))
        assert outcome.status == 2
        waited_for, reason = outcome.err.splitlines()
        assert "event=trouble what=controller" in waited_for
        assert "DUPLICATE_BROKER_REGISTRATION" in waited_for
        assert "DUPLICATE_BROKER_REGISTRATION" in reason

    @staticmethod
    def refused(config: Path, reason: str, beside: str = "", *, waits: bool = False) -> str:
        """Return what is said; `beside` lies what others change, and what it `waits` for is a line before."""

        def ours() -> dict[Path, tuple[int, int, int, bytes]]:
            found = everything(config.parent)
            return {path: each for path, each in found.items() if not beside or beside not in path.parts}

        before = ours()
        outcome = epochlog("broker", "--config", config)
        assert outcome.status == 2
        assert reason in outcome.err.splitlines()[-1]
        assert outcome.err.count("\n") == 1 + waits
        assert ours() == before
        return outcome.err


class TestValidate:
    def test_it_says_all_that_is_wrong_and_what_makes_no_difference(self, tmp_path: Path) -> None:
        config = lone_properties(
            tmp_path,
            NOBODY,
            process_roles="broker,controller",
            controller_listener_names="",
            listeners="PLAINTEXT://a:1,OTHER://b:2",
            log_retention_ms="soon",
            zookeeper_connect="here",
        )
        outcome = epochlog("broker", "--config", config, "--validate", "--json")
        assert outcome.status == 1
        validate_output("broker", outcome.out)
        told = " ".join(json.loads(outcome.out)["faults"])
        for fault in (
            "process.roles",
            "controller.listener.names",
            "no protocol for OTHER",
            "log.retention.ms is 'soon'",
        ):
            assert fault in told

    def test_it_looks_at_the_directories_also_where_a_property_is_wrong(self, tmp_path: Path) -> None:
        config = lone_properties(tmp_path, NOBODY, log_retention_ms="soon")
        outcome = epochlog("broker", "--config", config, "--validate", "--json")
        assert outcome.status == 1
        property_told, *directories_told = json.loads(outcome.out)["faults"]
        assert "log.retention.ms is 'soon'" in property_told
        assert "has no meta.properties" in " ".join(directories_told)

    def test_it_says_that_it_could_not_connect_to_the_controllers(self, tmp_path: Path) -> None:
        config = formatted(
            lone_properties(
                tmp_path,
                NOBODY,
                listener_security_protocol_map="CONTROLLER:SSL,PLAINTEXT:PLAINTEXT",
                ssl_truststore_location="/nowhere.pem",
                ssl_truststore_type="PEM",
            )
        )
        outcome = epochlog("broker", "--config", config, "--validate", "--json")
        assert outcome.status == 1
        (fault,) = json.loads(outcome.out)["faults"]
        assert fault.startswith("connections to the controllers: /nowhere.pem: ")

    def test_it_says_which_listeners_have_no_usable_certificate(self, tmp_path: Path) -> None:
        config = formatted(
            lone_properties(
                tmp_path,
                NOBODY,
                listeners="PLAINTEXT://127.0.0.1:9092,ONE://127.0.0.1:9093,TWO://127.0.0.1:9094",
                advertised_listeners="PLAINTEXT://127.0.0.1:9092",
                listener_security_protocol_map="CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,ONE:SSL,TWO:SSL",
                ssl_keystore_location="/nowhere.pem",
            )
        )
        outcome = epochlog("broker", "--config", config, "--validate", "--json")
        assert outcome.status == 1
        faults = json.loads(outcome.out)["faults"]
        assert [each.split(": not a PEM")[0] for each in faults] == [
            "listener ONE: /nowhere.pem",
            "listener TWO: /nowhere.pem",
        ]

    def test_it_starts_nothing(self, tmp_path: Path) -> None:
        config = formatted(lone_properties(tmp_path, NOBODY, zookeeper_connect="here", metrics_listner="9404"))
        before = everything(tmp_path)
        outcome = epochlog("broker", "--config", config, "--validate")
        assert outcome.status == 0
        assert (
            "makes no difference here: metrics.listner (is metrics.listener meant?), zookeeper.connect" in outcome.err
        )
        assert everything(tmp_path) == before
