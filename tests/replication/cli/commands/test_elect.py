"""What `epochlog elect` adds to Kafka's tool, and how it ends, without a cluster."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logstore import MetaProperties, TopicPartition
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, OffsetCheckpoint
from replication.cluster.operations.cluster_view import Aspect, BrokerView, ClusterView, Gap
from replication.cluster.operations.partition_view import PartitionView
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionResult
from tests.data.replicas import replicas
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cluster.operations.electing_broker import ElectingBroker
from tests.replication.copies.audit.logs import Copy, Written

ORDERS = TopicPartition("orders", 3)
FORKED = TopicPartition("diverge", 0)
PREFERRED = ("--election-type", "preferred")
UNCLEAN = ("--election-type", "unclean")
ALL = "--all-topic-partitions"
NOT_AVAILABLE = ElectionResult(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")


def elected(
    results: Mapping[TopicPartition, ElectionResult], *options: object, error: ErrorCode = ErrorCode.NONE
) -> Outcome:
    """Ask a broker that answers so for preferred elections of all partitions."""
    with ElectingBroker(results, error) as broker:
        return epochlog("elect", "--bootstrap", broker.address, *PREFERRED, ALL, *options)


def test_results_as_json() -> None:
    done = elected({ORDERS: ElectionResult(ErrorCode.NONE), FORKED: NOT_AVAILABLE}, "--json")
    assert done.status == 1
    assert done.err == "1 replica(s) could not be elected\n"
    assert done.document == {
        "schema_version": 1,
        "dry_run": False,
        "election_type": "PREFERRED",
        "elected": 1,
        "not_needed": 0,
        "failed": 1,
        "partitions": [
            {"topic": "orders", "partition": 3, "error": None, "message": None},
            {
                "topic": "diverge",
                "partition": 0,
                "error": "PREFERRED_LEADER_NOT_AVAILABLE",
                "message": "The preferred leader was not available.",
            },
        ],
    }


def test_who_may_not_elect_is_told_so_on_both_streams() -> None:
    done = elected({}, error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert (done.status, done.out) == (1, "Not authorized to perform leader election\n")
    assert done.err == "Not authorized to perform leader election\nthe user needs Alter on the cluster\n"


def test_with_json_what_went_wrong_is_json_too() -> None:
    done = elected({}, "--json", error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert (done.status, done.document["exit_status"]) == (1, 1)
    assert done.document["error"]["message"] == (
        "Not authorized to perform leader election; the user needs Alter on the cluster"
    )


def test_a_controller_that_does_not_decide_in_time() -> None:
    done = elected({}, error=ErrorCode.REQUEST_TIMED_OUT)
    assert (done.status, done.out) == (1, "Timeout waiting for election results\n")


def test_other_errors_have_kafka_s_names() -> None:
    done = elected({}, error=ErrorCode.NOT_CONTROLLER)
    expected = "NOT_CONTROLLER: This is not the correct controller for this cluster.\n"
    assert (done.status, done.out, done.err) == (1, "", expected)


def test_an_old_broker_elects_preferred_leaders_only() -> None:
    with ElectingBroker({ORDERS: ElectionResult(ErrorCode.NONE)}, spoken=range(1)) as broker:
        done = epochlog("elect", "--bootstrap", broker.address, *PREFERRED, ALL)
        assert (done.status, broker.asked[0].partitions) == (0, None)
        refused = epochlog("elect", "--bootstrap", broker.address, *UNCLEAN, ALL)
    assert refused.status == 1
    assert "ElectLeaders is supported in versions 0, this request can be sent in 1 to 2" in refused.err


@pytest.mark.parametrize("option", ["--command-config", "--admin.config"])
def test_what_the_broker_is_told_to_take_at_most(tmp_path: Path, option: str) -> None:
    (tmp_path / "client.properties").write_text("default.api.timeout.ms=7000\nrequest.timeout.ms=6000\n")
    with ElectingBroker({}) as broker:
        told = ("elect", "--bootstrap", broker.address, *PREFERRED, ALL)
        assert epochlog(*told, option, tmp_path / "client.properties").status == 0
        assert epochlog(*told).status == 0
    given, usual = (asked.timeout_ms for asked in broker.asked)
    assert 0 < given <= 7_000 < usual <= 30_000


def test_the_configurations_old_name_is_told_of_but_not_in_json(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("client.id=me\nlinger.ms=1\n")
    done = elected({}, "--admin.config", tmp_path / "client.properties")
    assert done.out.startswith("Option --admin.config has been deprecated")
    assert (done.status, done.err) == (0, "")
    assert elected({}, "--admin.config", tmp_path / "client.properties", "--json").document["failed"] == 0


@pytest.mark.parametrize("help_option", ["-h", "--help", "-help"])
def test_the_help_shows_our_options_too(help_option: str) -> None:
    shown = epochlog("elect", "--bootstrap", "nowhere", help_option)
    assert (shown.status, shown.err) == (0, "")
    options = ("--election-type", "--dry-run", "--log-dir", "--json", "--admin.config")
    assert all(option in shown.out for option in options)
    assert shown == epochlog("elect", help_option)


def test_without_any_option_the_help_is_shown_as_an_error() -> None:
    assert epochlog("elect") == Outcome(1, "", epochlog("elect", "--help").out)


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (("--help",), 0, "--dry-run"),
        (("--version",), 0, "4.3.1"),
        (("--bootstrap", "nowhere", "--election-type", "preferred"), 1, "One and only one of the following options"),
        (("--bootstrap", "nowhere", "--election-type", "preferred", ALL), 1, "pip install '.[cli,wire]'"),
    ],
)
def test_without_the_extra_for_the_wire_only_elections_fail(
    arguments: tuple[str, ...], status: int, expected: str
) -> None:
    program = (
        "import sys; sys.modules['kio'] = None; sys.argv[0] = 'epochlog'\n"
        "from replication.cli.main import main; main(['elect', *sys.argv[1:]])"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert expected in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((ALL, "--log-dir", "d"), "Option log-dir is only allowed if dry-run is used\n"),
        (
            (ALL, "--dry-run", "--log-dir", "1=d"),
            "Option log-dir is needed for at least two brokers: losses are found by comparing their copies\n",
        ),
        (
            (ALL, "--dry-run", "--log-dir", "1=d", "--log-dir", "1=e"),
            "Option log-dir is needed for at least two brokers: losses are found by comparing their copies\n",
        ),
    ],
)
def test_our_options_are_refused_where_they_make_no_sense(arguments: tuple[str, ...], complaint: str) -> None:
    done = epochlog("elect", "--bootstrap", "127.0.0.1:1", *UNCLEAN, *arguments)
    assert (done.status, done.out, done.err) == (1, "", complaint)


def test_a_directory_that_does_not_tell_whose_it_is(tmp_path: Path) -> None:
    told = ("--dry-run", "--log-dir", tmp_path, "--log-dir", "2=x")
    done = epochlog("elect", "--bootstrap", "127.0.0.1:1", *UNCLEAN, ALL, *told)
    assert (done.status, done.err) == (
        1,
        f"{tmp_path}: it has no meta.properties that names its broker; write ID={tmp_path}\n",
    )
    told = ("--dry-run", "--log-dir", tmp_path / "gone", "--log-dir", "2=x")
    assert (
        epochlog("elect", "--bootstrap", "127.0.0.1:1", *UNCLEAN, ALL, *told).err
        == f"{tmp_path / 'gone'}: no such directory\n"
    )


def test_a_directory_that_is_none_is_told_with_the_tools_status(tmp_path: Path) -> None:
    told = ("--dry-run", "--log-dir", f"1={tmp_path / 'a'}", "--log-dir", f"2={tmp_path / 'b'}")
    done = epochlog("elect", "--bootstrap", "127.0.0.1:1", *UNCLEAN, ALL, *told)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert str(tmp_path / "a") in done.err


def test_names_do_not_reach_the_terminals_controls() -> None:
    done = elected({TopicPartition("a\x1b[2J", 0): ElectionResult(ErrorCode.UNKNOWN_SERVER_ERROR, "line\nline")})
    assert "a\\x1b[2J-0" in done.out
    assert done.out.count("\n") == 1


# Dry runs


@contextmanager
def cluster(monkeypatch: pytest.MonkeyPatch, *partitions: PartitionView, gaps: tuple[Gap, ...] = ()) -> Iterator[None]:
    """Let there be a cluster of brokers 1 to 3, of which the last is down, with these partitions."""
    brokers = tuple(BrokerView(id=each, address=Address("h", 1), is_fenced=each == 3) for each in (1, 2, 3))
    view = ClusterView(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", brokers=brokers, partitions=partitions, gaps=gaps)
    with monkeypatch.context() as patched:
        patched.setattr("replication.cli.judging.election_dry_run.read_cluster", lambda _: view)
        yield


def foresee(*options: object) -> Outcome:
    return epochlog("elect", "--bootstrap", "127.0.0.1:1", "--dry-run", *options)


def test_a_dry_run_says_who_would_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    astray = PartitionView(partition=ORDERS, leader=2, replicas=(1, 2, 3), isr=(2, 1))
    down = PartitionView(partition=TopicPartition("orders", 4), leader=2, replicas=(3, 2), isr=(2,))
    with cluster(monkeypatch, astray, down, gaps=(Gap(Aspect.ELR, "too old", is_failure=False),)):
        done = foresee(*PREFERRED, ALL)
    assert done.status == 1
    assert done.err == "epochlog: not known: eligible leader replicas: too old\n"
    assert [line.split("\t") for line in done.out.splitlines()] == [
        ["partition", "leader", "would lead", "in sync", "election", "lost by the others"],
        ["orders-3", "2", "1", "2,1", "clean", ""],
        ["orders-4", "2", "2", "2", "The preferred leader was not available.", ""],
    ]


def test_where_all_would_go_well_the_status_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster(monkeypatch, PartitionView(partition=ORDERS, leader=1, replicas=(1, 2), isr=(2, 1))):
        assert foresee(*PREFERRED, ALL, "--json").document["partitions"] == []
        done = foresee(*PREFERRED, "--topic", "orders", "--partition", "3", "--json")
    assert (done.status, done.document["partitions"][0]["error"]) == (0, "ELECTION_NOT_NEEDED")


def leaderless() -> PartitionView:
    return PartitionView(partition=FORKED, leader=-1, replicas=(3, 1, 2), isr=(3,), elr=(), last_known_elr=())


def test_what_an_unclean_election_would_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    root = replicas("diverged")
    directories = [each for broker in (1, 2) for each in ("--log-dir", root / f"broker-{broker}")]
    with cluster(monkeypatch, leaderless()):
        done = foresee(*UNCLEAN, ALL, *directories)
        told: Any = foresee(*UNCLEAN, ALL, *directories, "--json").document
    assert done.status == 1
    lost = (
        "not compared: broker 3, and what it has is not counted; "
        "broker 2: 77 records, 13539 bytes from 300 on; in all 77 records lost, 77 of them acknowledged"
    )
    assert done.out.splitlines()[1].split("\t") == ["diverge-0", "", "1", "1", "unclean", lost]
    [partition] = told["partitions"]
    assert (told["dry_run"], told["election_type"], partition["unclean"]) == (True, "UNCLEAN", True)
    assert partition["lost"] == {"2": {"truncate_to": 300, "records_lost": 77, "bytes_lost": 13539}}
    assert (partition["recommended"], partition["not_compared"]) == (1, [3])


def test_a_directory_of_brokers_stands_for_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    root = replicas("diverged")
    apart = [each for broker in (1, 2, 3) for each in ("--log-dir", root / f"broker-{broker}")]
    with cluster(monkeypatch, leaderless()):
        assert foresee(*UNCLEAN, ALL, "--log-dir", root) == foresee(*UNCLEAN, ALL, *apart)


def test_one_acknowledged_record_outweighs_any_number_that_nobody_was_promised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trunk, many = Written(0, 10), tuple(Written(2, 90, "n") for _ in range(10))
    for number, (copy, mark) in enumerate(
        [(Copy((trunk, Written(1, 5)), 1 << 20), 15), (Copy((trunk, *many), 1 << 20), 10)], 1
    ):
        written = copy.write(tmp_path / f"{number}").path
        OffsetCheckpoint({TopicPartition("t", 0): mark}).write(written / HIGH_WATERMARK_CHECKPOINT)
    directories = [each for number in (1, 2) for each in ("--log-dir", f"{number}={tmp_path / str(number)}")]
    with cluster(monkeypatch, replace(leaderless(), partition=TopicPartition("t", 0), replicas=(2, 1))):
        [told] = foresee(*UNCLEAN, ALL, *directories, "--json").document["partitions"]
        said = foresee(*UNCLEAN, ALL, *directories).out
    lost = {each["replica"]: (each["acknowledged"]["records"], each["lost"]["records"]) for each in told["candidates"]}
    assert lost == {"1": (0, 900), "2": (5, 5)}
    assert (told["would_lead"], told["recommended"]) == (2, 1)
    assert "prefer broker 1 as leader: 900 records lost, whether they were acknowledged is not known" in said


def test_an_id_stands_for_what_the_directory_says(monkeypatch: pytest.MonkeyPatch) -> None:
    root = replicas("diverged")
    directories = ("--log-dir", f"1={root / 'broker-2'}", "--log-dir", f"2={root / 'broker-1'}")
    with cluster(monkeypatch, leaderless()):
        partition = foresee(*UNCLEAN, ALL, *directories, "--json").document["partitions"][0]
        told = foresee(*UNCLEAN, ALL, *directories).out
    assert (partition["lost"]["2"]["records_lost"], partition["recommended"]) == (120, 2)
    assert "; prefer broker 2 as leader: 77 records lost, 77 of them acknowledged\n" in told


@pytest.mark.parametrize(("directories", "missing"), [((), "3, 1, 2"), ((2, 3), "3, 1")])
def test_what_is_not_known_is_said(monkeypatch: pytest.MonkeyPatch, directories: tuple[int, ...], missing: str) -> None:
    root = replicas("diverged")
    options = [each for broker in directories for each in ("--log-dir", root / f"broker-{broker}")]
    with cluster(monkeypatch, leaderless()):
        done = foresee(*UNCLEAN, ALL, *options)
        told = json.loads(foresee(*UNCLEAN, ALL, *options, "--json").out)
    assert done.status == 1
    assert done.out.splitlines()[1].endswith(f"not known: no --log-dir has a copy of broker {missing}")
    assert (told["partitions"][0]["lost"], told["partitions"][0]["recommended"]) == (None, None)


def test_nobody_is_preferred_where_nothing_is_lost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copies = [tmp_path / "one", tmp_path / "other"]
    for copy in copies:
        shutil.copytree(replicas("diverged") / "broker-1", copy)
    directories = ("--log-dir", f"1={copies[0]}", "--log-dir", f"2={copies[1]}")
    partition = replace(leaderless(), replicas=(3, 2, 1))
    with cluster(monkeypatch, partition):
        done = foresee(*UNCLEAN, ALL, *directories)
        told = foresee(*UNCLEAN, ALL, *directories, "--json").document["partitions"][0]
    assert done.out.splitlines()[1].split("\t") == [
        *("diverge-0", "", "2", "2"),
        "unclean",
        "not compared: broker 3, and what it has is not counted; of what was compared nothing is lost",
    ]
    assert (told["would_lead"], told["recommended"]) == (2, 2)


def test_what_is_no_replica_can_neither_lead_nor_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    root = replicas("diverged")
    with cluster(monkeypatch, leaderless()):
        done = foresee(*UNCLEAN, ALL, "--log-dir", root / "broker-1", "--log-dir", f"7={root / 'broker-2'}")
    assert done.out.splitlines()[1].endswith("\tnot known: no --log-dir has a copy of broker 3, 2")


def test_directories_of_another_cluster_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(replicas("diverged") / "broker-2", copy)
    replace(MetaProperties.read(copy / "meta.properties"), cluster_id="another").write(copy / "meta.properties")
    with cluster(monkeypatch, leaderless()):
        done = foresee(*UNCLEAN, ALL, "--log-dir", replicas("diverged") / "broker-1", "--log-dir", f"2={copy}")
    told = f"{copy}: it belongs to cluster another, but the elections are in MkU3OEVBNTcwNTJENDM2Qg\n"
    assert (done.status, done.out, done.err) == (1, "", told)


def test_a_broker_may_have_several_disks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    disks = [tmp_path / "disk-1", tmp_path / "disk-2"]
    for disk in disks:
        shutil.copytree(replicas("diverged") / "broker-2", disk)
    shutil.rmtree(disks[0] / str(FORKED))
    directories = ["--log-dir", replicas("diverged") / "broker-1"]
    directories += [each for disk in disks for each in ("--log-dir", disk)]
    with cluster(monkeypatch, leaderless()):
        twice = foresee(*UNCLEAN, ALL, *directories)
        for both in {each.name for each in disks[0].iterdir() if each.is_dir()}:
            shutil.rmtree(disks[1] / both)
        told = foresee(*UNCLEAN, ALL, *directories, "--json").document["partitions"][0]
    assert (twice.status, twice.out) == (1, "")
    assert twice.err.startswith(f"{disks[1]}: broker 2 has another directory that holds ")
    assert told["lost"]["2"]["records_lost"] == 77
