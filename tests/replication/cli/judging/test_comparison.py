"""`plan`, `advise` and `epochs` go on after what cannot be judged, and never touch what they read."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from logstore.files.offset_checkpoint import (
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.offline.log_file import LogFile
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.base.errors import ACCESS_ADVICE
from replication.copies.audit import local_judging
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.judgement.verdict import PartitionVerdict
from tests.replication.cli.command import epochlog
from tests.replication.copies.audit.snapshot_roots import META
from tests.replication.partitions import ABatch, write_partition

SOUND = [ABatch(0, 5, 0), ABatch(5, 5, 1)]
EPOCHS = [(0, 0), (1, 5)]
PLAIN_ID, OTHER_ID = "Br8snZJcSrSaMIBVoJX3aw", "Br8snZJcSrSaMIBVoJX3ag"


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Two brokers that both hold the partitions a-0 and b-0, which agree."""
    brokers = [tmp_path / "broker-1", tmp_path / "broker-2"]
    for broker in brokers:
        for name in ("a-0", "b-0"):
            write_partition(broker, SOUND, EPOCHS, name=name)
    return brokers


def compare(command: str, roots: list[Path], *options: str) -> tuple[int, list[str], str]:
    """Run it; give the status, the partitions that are known, and what was complained of."""
    places: list[object] = ["--leader", roots[0], "--follower", roots[1]] if command == "plan" else [*roots]
    places = places[:1] if command == "epochs" else places
    outcome = epochlog(command, *places, *options, "--json")
    document = outcome.document
    partitions = document["by_epochs"] if document.get("epochs_only") else document["partitions"]
    return outcome.status, [each["topic"] for each in partitions if each.get("verdict") != "unknown"], outcome.err


NONSENSE = ["nonsense", "0\n1\n2147483647 0\n"]


@pytest.mark.parametrize("checkpoint", NONSENSE)
@pytest.mark.parametrize(("command", "options"), [("plan", ()), ("advise", ("--epochs-only",))])
def test_a_checkpoint_of_nonsense_leaves_out_that_partition_only(
    command: str, options: tuple[str, ...], checkpoint: str, roots: list[Path]
) -> None:
    (roots[1] / "a-0/leader-epoch-checkpoint").write_text(checkpoint)
    status, judged, complaint = compare(command, roots, *options)
    assert (status, judged) == (2, ["b"])
    assert complaint.startswith("epochlog: a-0: ")
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("checkpoint", NONSENSE)
def test_a_checkpoint_of_nonsense_is_damage_where_the_batches_are_read(checkpoint: str, roots: list[Path]) -> None:
    (roots[1] / "a-0/leader-epoch-checkpoint").write_text(checkpoint)
    outcome = epochlog("advise", *roots, "--json")
    [damaged, sound] = outcome.document["partitions"]
    assert (outcome.status, damaged["verdict"], sound["verdict"]) == (1, "damaged", "identical")
    assert [each["damage"] is None for each in damaged["candidates"]] == [True, False]
    assert (damaged["least_loss"], damaged["recommended"]) == ("broker-1", "broker-1")


@pytest.mark.parametrize("command", ["plan", "advise"])
class TestWhatIsWrongWithOnePartition:
    def test_may_be_that_the_topic_was_made_again(self, command: str, roots: list[Path]) -> None:
        for root, topic_id in zip(roots, (PLAIN_ID, OTHER_ID), strict=True):
            (root / "a-0/partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
            (root / "b-0/partition.metadata").write_text(f"version: 0\ntopic_id: {PLAIN_ID}")
        status, judged, complaint = compare(command, roots)
        assert (status, judged) == (2, ["b"])
        assert f"{PLAIN_ID} on broker-1, {OTHER_ID} on broker-2" in complaint

    def test_may_be_that_only_one_replica_holds_it(self, command: str, roots: list[Path]) -> None:
        write_partition(roots[1], SOUND, EPOCHS, name="c-0")
        status, judged, complaint = compare(command, roots)
        assert (status, judged) == (0, ["a", "b"])
        assert complaint == "epochlog: not compared, since only broker-2 holds them: c-0\n"


COMPARING = [("plan", ()), ("advise", ()), ("advise", ("--epochs-only",))]
"""Commands that compare two replicas, with their options."""


@pytest.mark.parametrize(("command", "options"), COMPARING)
class TestABrokerWithSeveralDisks:
    """A directory of the roots of one broker is one replica, as it is to the audit."""

    @pytest.fixture
    def jbod(self, roots: list[Path], tmp_path: Path) -> Path:
        """The second broker, with each partition on a disk of its own."""
        for number, name in enumerate(("a-0", "b-0")):
            disk = tmp_path / f"jbod/disk-{number}"
            disk.mkdir(parents=True)
            (disk / "meta.properties").write_text(META.format(cluster="c", node=2))
            (roots[1] / name).rename(disk / name)
        return tmp_path / "jbod"

    def test_is_one_replica(self, command: str, options: tuple[str, ...], roots: list[Path], jbod: Path) -> None:
        assert compare(command, [roots[0], jbod], *options) == (0, ["a", "b"], "")

    def test_is_several_replicas_where_the_disks_are_of_several_brokers_of_which_a_plan_takes_none(
        self, command: str, options: tuple[str, ...], roots: list[Path], jbod: Path
    ) -> None:
        (jbod / "disk-1/meta.properties").write_text(META.format(cluster="c", node=3))
        if command != "plan":
            assert compare(command, [roots[0], jbod], *options) == (0, ["a", "b"], "")
            return
        outcome = epochlog(command, "--leader", roots[0], "--follower", jbod, *options)
        assert (outcome.status, outcome.out) == (2, "")
        assert f"{jbod}: holds log.dirs roots of several brokers, disk-0, disk-1; name each" in outcome.err

    def test_leaves_out_a_partition_that_two_disks_hold(
        self, command: str, options: tuple[str, ...], roots: list[Path], jbod: Path
    ) -> None:
        shutil.copytree(jbod / "disk-0/a-0", jbod / "disk-1/a-0")
        places: list[object] = ["--leader", roots[0], "--follower", jbod] if command == "plan" else [roots[0], jbod]
        outcome = epochlog(command, *places, *options)
        assert outcome.status == 2
        disks = [f"{jbod / disk}/a-0 (leader epoch 1, end offset 10)" for disk in ("disk-0", "disk-1")]
        told = f"epochlog: a-0: jbod has a-0 in 2 of its log.dirs, {' and '.join(disks)}: Kafka's broker does not start"
        assert outcome.err.startswith(told)
        assert compare(command, [roots[0], jbod], *options)[:2] == (2, ["b"])


@pytest.mark.parametrize(("command", "options"), COMPARING)
@pytest.mark.parametrize("which", [0, 1])
class TestAReplicaThatLacksWhatTheOtherHas:
    def test_may_hold_nothing_at_all(
        self, which: int, command: str, options: tuple[str, ...], roots: list[Path]
    ) -> None:
        (roots[which] / "meta.properties").write_text(META.format(cluster="c", node=which))
        for name in ("a-0", "b-0"):
            shutil.rmtree(roots[which] / name)
        status, _, complaint = compare(command, roots, *options)
        assert status == 1
        assert f"broker-{which + 1} lacks partitions that it should have: a-0, b-0" in complaint

    def test_may_lack_the_partition_that_is_named(
        self, which: int, command: str, options: tuple[str, ...], roots: list[Path]
    ) -> None:
        shutil.rmtree(roots[which] / "a-0")
        (roots[1 - which] / "a-0").rename(roots[1 - which].parent / "a-0")
        roots[1 - which] = roots[1 - which].parent / "a-0"
        status, _, complaint = compare(command, roots, *options)
        assert status == 1
        assert f"broker-{which + 1} lacks partitions that it should have: a-0\n" in complaint
        assert "b-0" not in complaint


@pytest.mark.parametrize("command", ["plan", "advise", "epochs"])
@pytest.mark.parametrize("which", [0, 1])
def test_a_partition_that_cannot_be_listed_leaves_out_that_partition_only(
    command: str, which: int, roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, path = PartitionDirectory.open, roots[which] / "a-0"

    def refusing(directory: Path, **told: Any) -> PartitionDirectory:
        if directory == path:
            raise PermissionError(13, "Permission denied", str(path))  # root may open everything
        return real(directory, **told)

    monkeypatch.setattr(PartitionDirectory, "open", staticmethod(refusing))
    places = [roots[which]] if command == "epochs" else roots
    assert compare(command, places) == (2, ["b"], f"epochlog: a-0: {path}: Permission denied; {ACCESS_ADVICE}\n")


@pytest.mark.parametrize("command", ["plan", "advise", "epochs", "verify"])
def test_a_root_without_checkpoints_may_hold_an_unreadable_directory(
    command: str, roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def refusing(path: Path) -> Any:
        if Path(path).name == "a-0":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    if command == "verify":
        outcome = epochlog("verify", roots[0], "--json")
        assert (outcome.status, outcome.document["findings"][0]["kind"]) == (2, "file-unreadable")
        return
    status, judged, complaint = compare(command, roots)
    assert (status, judged) == (2, ["b"])
    assert {line.split(": ", 2)[1] for line in complaint.splitlines()} == {"a-0"}


@pytest.mark.parametrize("command", ["plan", "advise", "epochs"])
@pytest.mark.parametrize("name", ["a-0", f"a-0/{0:020d}.log", "a-0/leader-epoch-checkpoint"])
def test_a_link_that_leaves_the_root_is_told_and_not_followed(
    command: str, name: str, roots: list[Path], tmp_path: Path
) -> None:
    link = roots[0] / name
    link.rename(tmp_path / "elsewhere")
    link.symlink_to(tmp_path / "elsewhere")
    complaint = (
        f"epochlog: a-0: {link}: a symbolic link that leaves the root: it was not followed; copy what it leads to\n"
    )
    assert compare(command, roots) == (2, ["b"], complaint)


@pytest.mark.parametrize("others", [1, 2])
def test_a_copy_that_cannot_be_read_makes_its_partition_unknown_whatever_the_others_hold(
    others: int, roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    if others == 2:
        roots.append(write_partition(roots[0].with_name("broker-3"), SOUND, EPOCHS, name="a-0").parent)
    log = roots[0] / f"a-0/{0:020d}.log"
    real = LogFile.open

    def refusing(path: Path) -> LogFile:
        if path == log:
            raise PermissionError(13, "Permission denied", str(path))  # root may open everything
        return real(path)

    monkeypatch.setattr(LogFile, "open", refusing)
    outcome = epochlog("advise", *roots, "--json")
    [unknown, known] = outcome.document["partitions"]
    assert outcome.status == 2
    assert (unknown["verdict"], unknown["unread"], unknown["recommended"]) == ("unknown", ["broker-1"], None)
    assert not {"lagging", "identical"} & set(unknown["verdicts"])
    assert known["verdict"] == "identical"
    told = epochlog("advise", *roots).out
    assert "a-0: unknown, since the copy of broker-1 could not be read whole" in told
    [agreed] = [line for line in told.splitlines() if "any replica may lead" in line]
    assert agreed.endswith(": b-0")


def test_a_partition_that_changes_while_it_is_read_is_read_again(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, more = roots[0] / f"a-0/{0:020d}.log", ABatch(10, 5, 1).encoded()
    looks: list[int] = []
    real = local_judging.judge

    def judging(copies: Sequence[ExaminedCopy], **others: Any) -> PartitionVerdict:
        if copies[0].summary.topic == "a":
            looks.append(copies[0].summary.log_end_offset)
            if len(looks) == 1:
                with open(log, "ab") as file:
                    file.write(more)
        return real(copies, **others)

    monkeypatch.setattr(local_judging, "judge", judging)
    outcome = epochlog("advise", *roots, "--json")
    assert looks == [10, 15]
    assert [each["verdict"] for each in outcome.document["partitions"]] == ["lagging", "identical"]


def test_a_partition_that_changes_each_time_it_is_read_is_unknown(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, real = roots[0] / f"a-0/{0:020d}.log", local_judging.judge

    def judging(copies: Sequence[ExaminedCopy], **others: Any) -> PartitionVerdict:
        os.utime(log, ns=(0, log.stat().st_mtime_ns + 1_000_000_000))
        return real(copies, **others)

    monkeypatch.setattr(local_judging, "judge", judging)
    outcome = epochlog("advise", *roots, "--json")
    [unknown, known] = outcome.document["partitions"]
    assert outcome.status == 2
    assert (unknown["verdicts"], unknown["unread"], known["verdict"]) == (["unknown"], ["broker-1"], "identical")


class TestDamageThatEndsALog:
    @pytest.fixture
    def damaged(self, roots: list[Path]) -> Path:
        """Flip a bit in the second batch of broker-1's a-0."""
        log = roots[0] / f"a-0/{0:020d}.log"
        data = bytearray(log.read_bytes())
        data[-1] ^= 1
        log.write_bytes(data)
        return log

    def expected(self, log: Path, who: str) -> str:
        position = len(SOUND[0].encoded())
        return (
            f"epochlog: a-0: {who} is damaged: its log counts as ending at offset 5: {log}: the checksum of the batch "
            f"of {log.stat().st_size - position} bytes does not match at position {position}, offset 5; "
            "take offsets 5 to 9 from another replica\n"
        )

    def test_is_told_by_plan(self, damaged: Path, roots: list[Path]) -> None:
        for places, marked in ((roots, "ahead (leader damaged)"), (roots[::-1], "lagging (follower damaged)")):
            outcome = epochlog("plan", "--leader", places[0], "--follower", places[1])
            assert (outcome.status, outcome.err) == (1, self.expected(damaged, "broker-1"))
            assert outcome.out.splitlines()[1].split("\t")[1] == marked

    def test_is_told_by_advise(self, damaged: Path, roots: list[Path]) -> None:
        outcome = epochlog("advise", *roots)
        assert (outcome.status, outcome.err) == (1, "")
        what = f"damaged, its log counts as ending at offset 5: {damaged}: the checksum of the batch"
        assert f"\tbroker-1 (not to be trusted: {what}" in outcome.out
        told = "whom Kafka elects; broker-2 (leader epoch 1, end offset 10) has the latest leader epoch"
        assert f"a-0: the files do not show {told}" in outcome.out
        assert f"\t{damaged.name}\t" in outcome.out.split("\nDamage")[-1]

    @pytest.mark.usefixtures("damaged")
    def test_is_told_in_the_sentence_that_recommends_the_copy(self, roots: list[Path]) -> None:
        shutil.rmtree(roots[1] / "a-0")
        write_partition(roots[1], [], [], name="a-0")
        outcome = epochlog("advise", *roots)
        told = outcome.out.splitlines()[0]
        assert "whom Kafka elects; broker-1 (not to be trusted: damaged, its log counts as ending at offset 5: " in told
        expected = "and least is lost under it: no loss was found; what the damaged or differing parts held"
        assert expected in told

    def test_is_told_by_advise_without_reading_the_records(self, damaged: Path, roots: list[Path]) -> None:
        outcome = epochlog("advise", *roots, "--epochs-only")
        assert (outcome.status, outcome.err) == (1, self.expected(damaged, "broker-1"))
        said, untold, _, *rows = outcome.out.splitlines()
        assert said.startswith("the records were not read (--epochs-only)")
        assert "the files do not show whom Kafka elects: none of the directories holds" in untold
        assert [line.split("\t")[1:4] for line in rows[:2]] == [
            ["not known", "broker-2", "broker-1 (damaged)"],
            ["not known", "broker-2", "broker-2"],
        ]

    @pytest.mark.usefixtures("damaged")
    def test_stands_in_the_json(self, roots: list[Path]) -> None:
        plan = epochlog("plan", "--leader", roots[0], "--follower", roots[1], "--json").document["partitions"][0]
        assert plan["follower_damage"] is None
        by_epochs = epochlog("advise", *roots, "--json", "--epochs-only").document["by_epochs"][0]
        assert [standing["damage"] for standing in by_epochs["replicas"]] == [plan["leader_damage"], None]
        document = epochlog("advise", *roots, "--json").document
        [damaged, sound] = document["partitions"][0]["candidates"]
        assert damaged["damage"].startswith("damaged, its log counts as ending at offset 5: ")
        assert sound["damage"] is None
        assert [each["kind"] for each in document["findings"] if each["severity"] == "error"] == ["corrupt-batch"]


def test_a_single_partition_leaves_the_rest_of_a_root_unmentioned(roots: list[Path]) -> None:
    assert compare("plan", [roots[0], roots[1] / "a-0"]) == (0, ["a"], "")
    assert compare("advise", [roots[0] / "a-0", roots[1]]) == (0, ["a"], "")


def test_a_single_partition_that_nobody_else_holds_is_mentioned(roots: list[Path]) -> None:
    alone = write_partition(roots[0].with_name("broker-3"), SOUND, EPOCHS, name="c-0")
    assert compare("advise", [*roots, alone]) == (
        0,
        ["a", "b"],
        "epochlog: not compared, since only broker-3 holds them: c-0\n",
    )


@pytest.mark.parametrize("command", ["plan", "advise"])
def test_a_replica_is_not_compared_with_itself(command: str, roots: list[Path], tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(roots[0])
    for other in (roots[0], link, roots[0] / "a-0"):
        places = ["--leader", roots[0], "--follower", other] if command == "plan" else [roots[0], other]
        outcome = epochlog(command, *places)
        assert outcome.status == 2
        assert "are the same replica" in outcome.err


@pytest.mark.parametrize(("command", "options"), COMPARING)
class TestWhoseTheCopiesAre:
    def refuse(self, command: str, options: tuple[str, ...], places: list[Path]) -> str:
        named: list[object] = ["--leader", places[0], "--follower", places[1]] if command == "plan" else [*places]
        outcome = epochlog(command, *named, *options)
        assert (outcome.status, outcome.out) == (2, "")
        return outcome.err

    def test_different_clusters_are_refused(self, command: str, options: tuple[str, ...], roots: list[Path]) -> None:
        own(roots[0], 1, "clusterA")
        own(roots[1], 2, "clusterB")
        for places in (roots, [roots[0] / "a-0", roots[1]], [root / "a-0" for root in roots]):
            complaint = self.refuse(command, options, places)
            assert f"{places[0]} of cluster clusterA, {places[1]} of cluster clusterB" in complaint

    def test_two_copies_of_one_broker_are_refused(
        self, command: str, options: tuple[str, ...], roots: list[Path]
    ) -> None:
        own(roots[0], 1)
        own(roots[1], 1)
        for places in (roots, [roots[0] / "a-0", roots[1]], [root / "a-0" for root in roots]):
            assert "broker-1 and broker-2 are both broker 1 by node.id" in self.refuse(command, options, places)

    def test_what_says_nothing_of_them_is_compared(
        self, command: str, options: tuple[str, ...], roots: list[Path]
    ) -> None:
        assert compare(command, roots, *options) == (0, ["a", "b"], "")
        own(roots[0], 1)
        (roots[1] / "meta.properties").write_bytes(b"version=nonsense")
        assert compare(command, roots, *options)[1] == ["a", "b"]


def own(root: Path, node: int, cluster: str = "clusterA") -> None:
    (root / "meta.properties").write_text(META.format(cluster=cluster, node=node))


def test_the_disks_of_one_broker_are_no_copies_of_each_other(roots: list[Path]) -> None:
    disk = roots[0].with_name("disk-2")
    write_partition(disk, SOUND, EPOCHS, name="c-0")
    own(roots[0], 1)
    own(disk, 1)
    own(roots[1], 2)
    assert compare("advise", [*roots, disk])[1] == ["a", "b"]


@pytest.mark.parametrize(("command", "options"), COMPARING)
def test_what_an_empty_broker_should_hold_is_missing(command: str, options: tuple[str, ...], tmp_path: Path) -> None:
    roots = [tmp_path / "broker-1", tmp_path / "broker-2"]
    write_partition(roots[0], SOUND, EPOCHS, name="a-0")
    roots[1].mkdir()
    OffsetCheckpoint({TopicPartition("a", 0): 5}).write(roots[1] / HIGH_WATERMARK_CHECKPOINT)
    for places in (roots, roots[::-1]):
        named: list[object] = ["--leader", places[0], "--follower", places[1]] if command == "plan" else [*places]
        outcome = epochlog(command, *named, *options, "--json")
        assert outcome.status == 1
        assert outcome.document["missing"] == [{"topic": "a", "partition": 0, "replica": "broker-2"}]
        assert "broker-2 lacks partitions that it should have: a-0" in outcome.err
        assert "nothing is lost" not in epochlog(command, *named, *options).out
    (roots[1] / HIGH_WATERMARK_CHECKPOINT).write_text("0\n0\n")
    outcome = epochlog(command, *named, *options)
    assert (outcome.status, "broker-2 lacks partitions that it should have: a-0" in outcome.err) == (1, True)


@pytest.mark.parametrize("clean", [True, False])
def test_a_copy_that_its_broker_will_drop_whole_has_nothing_to_lead_with(roots: list[Path], *, clean: bool) -> None:
    a_0 = TopicPartition("a", 0)
    for root in roots:
        OffsetCheckpoint({a_0: 10}).write(root / HIGH_WATERMARK_CHECKPOINT)
        if clean:
            (root / ".kafka_cleanshutdown").write_text("")
    OffsetCheckpoint({a_0: 1_000}).write(roots[0] / LOG_START_OFFSET_CHECKPOINT)
    outcome = epochlog("advise", *roots, "--json")
    (judged,) = [each for each in outcome.document["partitions"] if each["topic"] == "a"]
    lost = {
        each["replica"]: (each["lost"]["records"], each["acknowledged"]["records"]) for each in judged["candidates"]
    }
    assert lost == {"broker-1": (10, 10), "broker-2": (0, 0)}
    assert (judged["latest_and_longest"], judged["least_loss"]) == ("broker-1", "broker-2")
    assert "retention" not in judged["verdicts"]
    assert outcome.status == 3


class TestAnUnknownHighWatermark:
    @pytest.mark.parametrize("named", ["", "a-0"])
    def test_is_a_finding_where_its_file_cannot_be_read(self, roots: list[Path], named: str) -> None:
        for root in roots:
            (root / HIGH_WATERMARK_CHECKPOINT).write_text("garbage")
        outcome = epochlog("advise", *(root / named for root in roots))
        assert outcome.status == 1
        assert outcome.out.count("checkpoint-unparsable") == 2
        assert "nothing is lost" not in outcome.out

    def test_leaves_open_what_both_may_have_lost(self, roots: list[Path]) -> None:
        outcome = epochlog("advise", *roots)
        assert (outcome.status, "nothing is lost" in outcome.out) == (0, False)
        assert "what all may have lost at their ends is not known: a-0, b-0" in outcome.out
        for partition in ("a", "b"):
            OffsetCheckpoint({TopicPartition(partition, 0): 10}).write(roots[0] / HIGH_WATERMARK_CHECKPOINT)
            assert f"nothing is lost: {partition}-0" in epochlog("advise", *roots).out

    @pytest.mark.parametrize("clash", [True, False])
    def test_may_be_told_by_a_file_that_could_not_be_read(self, roots: list[Path], *, clash: bool) -> None:
        if clash:
            shutil.rmtree(roots[1] / "a-0")
            write_partition(roots[1], [SOUND[0], ABatch(5, 10, 0)], EPOCHS[:1], name="a-0")
        (roots[1] / HIGH_WATERMARK_CHECKPOINT).write_text("garbage")
        outcome = epochlog("advise", *roots)
        assert outcome.status == 1
        if clash:
            told = (
                "as far as is known (no file has the high watermark of broker-1; the file with the high watermark of "
                "broker-2 could not be read)"
            )
            assert told in outcome.out.splitlines()[0]
        told = "a file with their high watermark could not be read, so what all may have lost"
        assert told in outcome.out.splitlines()[-1]
        assert "no file has their high watermark" not in outcome.out
        branches = epochlog("advise", *roots, "--json").document["partitions"][0]["branches"]
        assert [each["high_watermark_unread"] for each in branches] == [False, True]

    def test_is_said_where_it_decides(self, roots: list[Path]) -> None:
        status, judged, complaint = compare("plan", roots, "--protocol", "high-watermark")
        assert (status, judged) == (2, [])
        assert "the high watermark is unknown" in complaint

    def test_is_no_matter_where_epochs_decide(self, roots: list[Path]) -> None:
        assert compare("plan", roots, "--protocol", "kip-320") == (0, ["a", "b"], "")

    def test_decides_where_a_follower_lost_its_epochs(self, roots: list[Path]) -> None:
        (roots[1] / "a-0/leader-epoch-checkpoint").write_text("0\n0\n")
        (roots[1] / ".kafka_cleanshutdown").write_text("")
        status, judged, complaint = compare("plan", roots)
        assert (status, judged) == (2, ["b"])
        assert "a-0: the high watermark is unknown" in complaint


class TestARebuildNeverWritesWhereItReads:
    @pytest.mark.parametrize("output", ["", "..", "a-0", "../broker-1/new"])
    def test_not_in_the_directory_nor_around_it(self, output: str, roots: list[Path]) -> None:
        outcome = epochlog("epochs", roots[0], "--rebuild", "--output", roots[0] / output)
        assert outcome.status == 2
        assert "never changed" in outcome.err.replace("\n", " ")
        assert not (roots[0] / "new").exists()

    def test_not_by_naming_the_root_of_a_partition(self, roots: list[Path]) -> None:
        checkpoint = roots[0] / "a-0/leader-epoch-checkpoint"
        checkpoint.write_text("0\n1\n0 0\n")
        assert epochlog("epochs", roots[0] / "a-0", "--rebuild", "--output", roots[0]).status == 2
        assert checkpoint.read_text() == "0\n1\n0 0\n"

    def test_not_through_a_link(self, roots: list[Path], tmp_path: Path) -> None:
        (tmp_path / "new").mkdir()
        (tmp_path / "new/a-0").symlink_to(roots[0] / "a-0")
        assert epochlog("epochs", roots[0], "--rebuild", "--output", tmp_path / "new").status == 2


def test_hostile_file_names_stay_on_their_line_and_off_the_terminal(tmp_path: Path) -> None:
    partition = write_partition(tmp_path / "broker-1", SOUND, EPOCHS)
    for name in (b"\x1b[31mred\tand more", b"\xff\xfe"):
        Path(os.fsdecode(bytes(partition) + b"/" + name)).write_text("")
    outcome = epochlog("verify", partition)
    assert outcome.out.isascii()
    assert "\x1b" not in outcome.out
    assert {line.count("\t") for line in outcome.out.splitlines()[:-1]} == {7}


def test_a_file_name_that_the_terminal_cannot_show_is_no_traceback(tmp_path: Path) -> None:
    partition = write_partition(tmp_path / "broker-1", SOUND, EPOCHS)
    (partition / "grün").write_text("")
    command = [sys.executable, "-m", "replication.cli", "verify", str(partition)]
    strict = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "1"}
    done = subprocess.run(command, env=strict, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "gr\\xfcn" in done.stdout


def test_a_partition_that_vanishes_after_the_listing_is_left_out(
    roots: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = OfflineLogDirectory.open

    def vanishing(path: Path) -> OfflineLogDirectory:
        opened = real(path)
        (roots[0] / "a-0").rename(roots[0] / "a-0.0123456789abcdef0123456789abcdef-delete")
        return opened

    monkeypatch.setattr(OfflineLogDirectory, "open", vanishing)
    outcome = epochlog("epochs", roots[0], "--json")
    assert (outcome.status, [each["topic"] for each in outcome.document["partitions"]]) == (0, ["b"])


def test_findings_are_printed_as_they_come(roots: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []

    def findings(*_: object, **__: object) -> object:
        for number in range(3):
            yield Reporter(TopicPartition("a", 0)).error("torn", f"number {number}", file="x")
            sys.stdout.flush()
            printed = sys.stdout.buffer
            assert isinstance(printed, io.BytesIO)
            lengths.append(printed.getvalue().count(b"number"))

    monkeypatch.setattr("logstore.verify.verify", findings)
    assert epochlog("verify", roots[0]).status == 1
    assert len(epochlog("verify", roots[0], "--json").document["findings"]) == 3
    assert lengths == [1, 2, 3] * 2
