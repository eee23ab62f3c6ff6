"""A directory that holds those of several brokers stands for all of them, in each command that reads copies."""

import re
import shutil
from pathlib import Path

import pytest

from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.cli.served import served

CLUSTER = replicas("diverged")
BROKERS = [CLUSTER / f"broker-{node}" for node in (1, 2, 3)]
COMMANDS: dict[str, list[object]] = {
    "advise": ["--json"],
    "audit": ["--topics", "diverge"],
    "dump": ["--offsets", "0:1"],
    "incident": ["--topics", "diverge"],
    "salvage": ["--kept", "broker-2", "--dry-run", "--json"],
    "transactions": ["--kept", "broker-2", "--json"],
}


def without_place(text: str) -> str:
    """What depends neither on how the directories were named nor on how long they were read."""
    return re.sub(r" in \d+\.\d s$", "", text.replace(f"{CLUSTER}/", ""), flags=re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_it_stands_for_each_of_them(command: str) -> None:
    apart = epochlog(command, *BROKERS, *COMMANDS[command])
    together = epochlog(command, CLUSTER, *COMMANDS[command])
    assert (together.status, without_place(together.out)) == (apart.status, without_place(apart.out))
    assert len(together.out) > 100


def test_verify_reads_all_of_them() -> None:
    apart = [epochlog("verify", broker, "--json").document for broker in BROKERS]
    assert epochlog("verify", CLUSTER, "--json").document["bytes"] == sum(each["bytes"] for each in apart)


def test_explain_has_all_of_them_beside_each_other() -> None:
    apart = epochlog("explain", "diverge-0", *BROKERS, "--json")
    assert epochlog("explain", "diverge-0", CLUSTER, "--json").out == apart.out


def test_epochs_says_whose_each_account_is() -> None:
    apart = [epochlog("epochs", broker, "--json").document["partitions"] for broker in BROKERS]
    together = epochlog("epochs", CLUSTER, "--json").document["partitions"]
    assert together == [each for partitions in apart for each in partitions]
    assert {each["replica"] for each in together} == {"broker-1", "broker-2", "broker-3"}
    heading, *rows = epochlog("epochs", CLUSTER).out.splitlines()
    assert heading == "replica\tpartition\tby checkpoint\tby batches"
    assert "broker-2\tdiverge-0\t" in "\n".join(rows)
    assert epochlog("epochs", BROKERS[0]).out.startswith("partition\tby checkpoint\tby batches\n")


def test_epochs_of_several_brokers_are_not_rebuilt_under_one_name(tmp_path: Path) -> None:
    outcome = epochlog("epochs", CLUSTER, "--rebuild", "--output", tmp_path / "rebuilt")
    assert (outcome.status, outcome.out) == (2, "")
    assert "holds log.dirs roots of several brokers, broker-1, broker-2, broker-3" in outcome.err
    assert not (tmp_path / "rebuilt").exists()


def test_repair_takes_what_it_needs_from_any_of_them_but_the_damaged_one() -> None:
    apart = epochlog("repair", BROKERS[0], "--from", BROKERS[1], "--from", BROKERS[2], "--dry-run", "--json")
    together = epochlog("repair", BROKERS[0], "--from", CLUSTER, "--dry-run", "--json")
    assert (together.status, together.out) == (apart.status, apart.out)


def test_plan_asks_which_of_them_is_meant() -> None:
    outcome = epochlog("plan", "--leader", CLUSTER, "--follower", replicas("reconciled") / "broker-1")
    assert (outcome.status, outcome.out) == (2, "")
    assert "holds log.dirs roots of several brokers, broker-1, broker-2, broker-3; name each" in outcome.err


def test_each_of_them_is_served() -> None:
    with served(CLUSTER) as document:
        assert len(document["brokers"]) == len(BROKERS)


def test_a_broker_with_several_disks_among_them_is_one(tmp_path: Path) -> None:
    (tmp_path / "cluster/jbod").mkdir(parents=True)
    for broker in BROKERS[1:]:
        (tmp_path / "cluster" / broker.name).symlink_to(broker)
    for disk, names in (("disk-a", ["diverge-0"]), ("disk-b", ["hwloss-0"])):
        root = tmp_path / "cluster/jbod" / disk
        for name in names:
            shutil.copytree(BROKERS[0] / name, root / name)
        known = (BROKERS[0] / "meta.properties").read_text()
        (root / "meta.properties").write_text(
            "".join(f"{line}\n" for line in known.splitlines() if "directory" not in line)
        )
    document = epochlog("advise", tmp_path / "cluster", "--epochs-only", "--json").document
    assert {each["replica"] for partition in document["by_epochs"] for each in partition["replicas"]} >= {
        "broker-2",
        "jbod",
    }
