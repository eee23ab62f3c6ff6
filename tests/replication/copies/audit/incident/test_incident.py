"""What an incident says: each choice and its loss, what is not known, and commands that can be run."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from replication.audit import audit_locally
from replication.base.counted import counted
from replication.copies.audit.incident.incident import Incident, incident_of
from replication.copies.audit.runbook import runbook as runbook_module
from replication.copies.audit.runbook.contest import Contest
from replication.copies.audit.runbook.start_plan import Led, Stage, StartPlan
from tests.data.replicas import damage_kinds, damaged, replicas
from tests.replication.cli.command import COMMANDS, epochlog
from tests.replication.copies.audit.random_clusters import write_clusters
from tests.replication.copies.audit.snapshot_roots import META, batches, write_root
from tests.replication.copies.salvage.copies import COMMIT, data, marker, write_copy

UNHARMED = [[f"broker-{node}/u-0", "broker-1/u-0"] for node in (2, 3)]
OFFSETS = Path(__file__).parents[4] / "data/consumer-offsets/__consumer_offsets-0"


def of(*roots: Path) -> tuple[Incident, dict[str, Any]]:
    document = audit_locally(list(roots)).document
    return incident_of(document), document


def test_an_unclean_election_is_told_with_times_and_both_choices() -> None:
    found, _ = of(replicas("diverged"))
    assert found.headline.startswith("Who leads decides what is lost in 2 of 9 partitions: up to 240 records")
    first = found.stakes[0]
    assert first.partition == "diverge-0"
    fork, choices, untold, recommendation = first.sentences
    assert fork == (
        "Two leaders wrote from offset 300 on: broker-1 under epoch 4 since 2026-11-21 07:55:55 UTC and broker-2 under "
        "epoch 5 since 2026-11-21 07:56:18 UTC."
    )
    assert choices == (
        "If broker-1 leads, 77 records of 2026-11-21 07:56:18 UTC are lost, all of them known to be acknowledged; if "
        "broker-2 leads, 120 records of 2026-11-21 07:55:55 UTC are lost, all of them known to be acknowledged."
    )
    assert untold.startswith("The files do not show whom Kafka elects: none of the directories holds the cluster's")
    assert recommendation == (
        "broker-2 has the latest leader epoch and the longest log, but least is lost under broker-1: choose before one "
        "leads."
    )
    assert found.damage == ()


def test_what_the_chosen_leader_lacks_all_the_same_is_found_by_the_command_that_is_named(tmp_path: Path) -> None:
    copies = shutil.copytree(replicas("diverged"), tmp_path / "copies")
    found, _ = of(copies)
    for root in sorted(copies.iterdir()):
        shutil.copytree(root, f"{root}.kept")
    [step] = [step for step in found.steps if step.what.startswith("Salvage")]
    [command] = step.commands
    program, *words = shlex.split(command)
    assert (program, words[-5:]) == ("epochlog", ["--kept", "1", "--topics", "diverge,hwloss", "--dry-run"])
    assert epochlog(*words).out.startswith("82 records to salvage: what other copies have and broker-1 lacks")


def test_so_is_it_where_a_broker_has_several_disks(tmp_path: Path) -> None:
    copies = shutil.copytree(replicas("diverged"), tmp_path / "copies")
    for root in sorted(copies.iterdir()):
        disks = [tmp_path / root.name / name for name in ("d1", "d2")]
        disks[0].parent.mkdir()
        root.rename(disks[0])
        disks[1].mkdir()
        own = (disks[0] / "meta.properties").read_text()
        (disks[1] / "meta.properties").write_text(re.sub("directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAZg", own))
        for moved in disks[0].glob("hwloss-*"):
            moved.rename(disks[1] / moved.name)
    found, _ = of(*(tmp_path / f"broker-{node}" for node in (1, 2, 3)))
    for root in sorted(tmp_path.glob("broker-*/d*")):
        shutil.copytree(root, f"{root}.kept")
    [step] = [step for step in found.steps if step.what.startswith("Salvage")]
    [command] = step.commands
    outcome = epochlog(*shlex.split(command)[1:])
    assert outcome.out.startswith("82 records to salvage: what other copies have and"), outcome.err


def with_a_cut_off_commit(tmp_path: Path, *, records: int) -> list[Path]:
    """Copies of brokers, of which the second was elected before it had the commit, nor these records before that."""
    begun = data(0, b"a", b"b", producer=7, transactional=True)
    more = [data(0, *[b"c"] * records)] if records else []
    write_copy(tmp_path / "broker-1", [begun, *more, marker(0, COMMIT, 7)])
    write_copy(tmp_path / "broker-2", [begun, *(data(2, b"d") for _ in range(records + 2))])
    for node in (1, 2):
        (tmp_path / f"broker-{node}/meta.properties").write_text(META.format(cluster="clusterA", node=node))
    return [tmp_path / "broker-1", tmp_path / "broker-2"]


def test_ends_of_transactions_count_apart_from_records(tmp_path: Path) -> None:
    found, _ = of(*with_a_cut_off_commit(tmp_path, records=3))
    [stake] = found.stakes
    assert (stake.records, stake.control_records) == (5, 1)
    assert (
        "if broker-2 leads, 3 records and 1 control record of 1970-01-01 00:00:01 UTC are lost, whether they were ack"
        in (" ".join(stake.sentences))
    )


def test_an_election_that_loses_nothing_but_the_end_of_a_transaction_is_told_with_the_command(tmp_path: Path) -> None:
    copies = with_a_cut_off_commit(tmp_path, records=0)
    found, document = of(*copies)
    assert (
        "broker-2 leads, 1 control record of 1970-01-01 00:00:01 UTC is lost, whether it was acknowledged is not known"
        in (" ".join(found.stakes[0].sentences))
    )
    document["partitions"][0]["least_loss"] = document["partitions"][0]["recommended"] = "broker-2"
    found = incident_of(document)
    shutil.copytree(copies[0], f"{copies[0]}.kept")
    [look] = [step for step in found.steps if step.what.startswith("See which transactions")]
    [command] = look.commands
    outcome = epochlog(*shlex.split(command)[1:])
    assert outcome.status == 1
    assert "broker-1.kept has committed it at 2; in broker-2, which diverges at 2, it is open" in (
        " ".join(outcome.out.split())
    )
    [ask] = [step for step in found.steps if step.what.startswith("Ask the cluster")]
    assert ask.commands == ("epochlog transactions --bootstrap BROKER:9092 --abort --dry-run",)
    assert not [step for step in found.steps if step.what.startswith("Salvage")]


def test_where_copies_agree_nothing_is_at_stake() -> None:
    found, document = of(replicas("healed"))
    assert found.stakes == ()
    assert found.headline == "No choice of a leader loses records of the 4 partitions, as far as the copies show."
    assert [step.what.partition(".")[0].partition(",")[0] for step in found.steps] == [
        "Back up",
        "With the controllers running",
        "Verify",
    ]
    assert json.dumps(found.as_json())
    assert document["hanging_transactions"] == []


def test_a_backup_that_is_there_is_kept_as_it_was(tmp_path: Path) -> None:
    copies = shutil.copytree(replicas("healed"), tmp_path / "the copies")
    found, _ = of(copies)
    backup = found.steps[0]
    assert backup.what.startswith("Back up")
    first = [(root, contents_of(root)) for root in sorted(copies.iterdir())]
    for _ in range(2):
        subprocess.run(["sh", "-ec", "\n".join(backup.commands)], check=True)
        for root, contents in first:
            assert contents_of(root.with_name(f"{root.name}.kept")) == contents
            (root / "meta.properties").write_text("")


def test_what_was_backed_up_in_a_directory_of_several_brokers_is_no_second_copy(tmp_path: Path) -> None:
    copies = shutil.copytree(replicas("healed"), tmp_path / "copies")
    found, document = of(copies)
    subprocess.run(["sh", "-ec", "\n".join(found.steps[0].commands)], check=True)
    again, same = of(copies)
    assert again.steps[0].what.startswith("Keep the backups that there are")
    assert same["partitions"] == document["partitions"]


def test_of_a_link_the_directory_is_backed_up(tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.mkdir()
    for root in sorted(replicas("healed").iterdir()):
        shutil.copytree(root, tmp_path / "disks" / root.name)
        (linked / root.name).symlink_to(tmp_path / "disks" / root.name)
    found, _ = of(linked)
    subprocess.run(["sh", "-ec", "\n".join(found.steps[0].commands)], check=True)
    for root in sorted((tmp_path / "disks").iterdir()):
        kept = linked / f"{root.name}.kept"
        assert not kept.is_symlink()
        assert contents_of(kept) == contents_of(root)
    assert of(linked)[0].steps[0].what.startswith("Keep the backups that there are")


def contents_of(root: Path) -> dict[Path, bytes]:
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_whether_all_agree_at_last_is_asked_of_new_copies(tmp_path: Path) -> None:
    before = shutil.copytree(replicas("diverged"), tmp_path / "copies")
    found, _ = of(before)
    roots = sorted(before.iterdir())
    program, command, *words = shlex.split(found.steps[-1].commands[-1])
    assert (program, command) == ("epochlog", "incident")
    copies, kept = [word for word in words if word.endswith(".new")], [word for word in words if word.endswith(".kept")]
    assert words == [*copies, *(word for each in kept for word in ("--before", each))]
    assert epochlog(command, *words).status == 2
    for root, copy, backup in zip(roots, copies, kept, strict=True):
        shutil.copytree(replicas("diverged") / root.name, copy)
        shutil.copytree(root, backup)
    not_yet = epochlog(command, *words)
    assert not_yet.status == 3
    text = " ".join(not_yet.out.split())
    assert text.startswith("Not done yet: so far nothing of the copies from before is gone. Who leads decides")
    for root, copy in zip(roots, copies, strict=True):
        shutil.rmtree(copy)
        shutil.copytree(replicas("reconciled") / root.name, copy)
    outcome = epochlog(command, *words)
    assert outcome.status == 0
    text = " ".join(outcome.out.split())
    assert text.startswith("Done: the copies of the 9 partitions agree, and of the copies from before ")
    assert text.endswith(" Nothing else is to be done.")
    document = epochlog(command, *words, "--json").document
    assert (document["is_well"], document["steps"], document["partitions"]) == (True, [], [])
    gone = {each["partition"]: each["records"] for each in document["recovery"]["gone"]}
    assert gone == {"diverge-0": 77, "hwloss-0": 5}, "what broker-2 had beyond broker-1, which was elected"


def test_a_copy_that_is_repaired_as_is_printed_is_sound(tmp_path: Path) -> None:
    copies = shutil.copytree(replicas("reconciled"), tmp_path / "copies")
    log = copies / "broker-2/codecs-0/00000000000000000400.log"
    log.write_bytes(log.read_bytes()[:100_000] + bytes(40_000) + log.read_bytes()[140_000:])
    found, _ = of(copies)
    [step] = [step for step in found.steps if step.what.startswith("Repair")]
    damaged_log = log.read_bytes()
    look, write, replace = step.commands
    assert epochlog(*shlex.split(look)[1:]).status == 1
    assert epochlog(*shlex.split(write)[1:]).status == 1
    subprocess.run(["sh", "-ec", replace], check=True)
    assert of(copies)[0].damage == ()
    assert (copies / "broker-2.codecs-0.damaged" / log.name).read_bytes() == damaged_log


def test_groups_beyond_the_end_are_told_and_reset(tmp_path: Path) -> None:
    copies = shutil.copytree(replicas("diverged"), tmp_path / "copies")
    for broker in ("broker-1", "broker-2"):
        shutil.copytree(OFFSETS, copies / broker / OFFSETS.name)
    found, _ = of(copies)
    assert found.groups[0].startswith("diverge-0: group billing stands at 410; what it has read matches broker-1 only")
    [reset] = [step for step in found.steps if step.what.startswith("Reset")]
    assert "--group billing --topic diverge:0 --reset-offsets --to-offset 300 --execute" in reset.commands[0]


def test_what_is_salvaged_is_what_the_planned_leader_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no order of starts gives each partition its best leader, one leads under which more is lost."""
    document = audit_locally([replicas("diverged")]).document
    [partition] = [each for each in document["partitions"] if each["topic"] == "diverge"]
    other = next(each["replica"] for each in partition["candidates"] if each["replica"] != partition["least_loss"])
    names = {each["node_id"]: each["name"] for each in document["snapshots"] if each["node_id"] is not None}
    led = Led(Contest.of(partition, names), frozenset([other]), is_forced=True)
    assert led.cost > led.contest.least
    plan = StartPlan((Stage((other,), led=(led,)),))
    monkeypatch.setattr(runbook_module, "planned_start", lambda _: plan)
    [salvage] = [step for step in runbook_module.runbook(document) if step.what.startswith("Salvage")]
    [command] = [each for each in salvage.commands if "diverge" in each.split("--topics")[1]]
    roots = {each["name"]: each["roots"][0] for each in document["snapshots"]}
    assert f"{roots[partition['least_loss']]}.kept " in command, "what the best copy held was cut by then"
    assert f"{roots[other]} " in command


def test_what_is_not_known_is_never_called_nothing(tmp_path: Path) -> None:
    found, _ = of(replicas("diverged"))
    assert found.groups == ("not known: logs are truncated, and there is no copy of __consumer_offsets",)
    root = write_root(tmp_path / "a", {"t-0": batches(4)}, node=1)
    write_root(tmp_path / "b", {"t-0": batches(4)}, node=2)
    min((root / "t-0").glob("*.log")).unlink()
    (root / "t-0" / "00000000000000000000.log").mkdir()
    found, _ = of(tmp_path)
    assert found.headline.startswith("Not everything is known") or found.damage


@pytest.mark.parametrize("kind", damage_kinds())
def test_what_is_damaged_is_named_with_its_copy(kind: str, tmp_path: Path) -> None:
    damaged(kind, tmp_path)
    found, document = of(tmp_path)
    errors = {each["replica"] for each in document["findings"] if each["severity"] == "error"}
    assert {line.partition(",")[0] for line in found.damage} == errors


def test_a_damaged_copy_that_another_can_heal_is_named_with_the_command(tmp_path: Path) -> None:
    for node in (1, 2, 3):
        write_root(tmp_path / f"broker-{node}", {"t-0": batches(4), "u-0": batches(4)}, node=node)
    for node in (1, 2, 3):
        log = min((tmp_path / f"broker-{node}/{'t-0' if node == 1 else 'u-0'}").glob("*.log"))
        log.write_bytes(log.read_bytes()[:-1] + b"?")
    found, _ = of(tmp_path)
    [step] = [step for step in found.steps if step.what.startswith("Repair")]
    commands = [shlex.split(command) for command in step.commands if command.endswith("--dry-run")]
    places = [[Path(word).relative_to(tmp_path).as_posix() for word in words if "/" in word] for words in commands]
    assert places == [["broker-1/t-0", "broker-2/t-0", "broker-3/t-0"], *UNHARMED]
    assert epochlog(*commands[0][1:]).out.startswith("t-0: to heal: offsets 9 to 11, ")
    assert "epochlog repair DIR --from OTHER --output COPY" in epochlog("verify", tmp_path / "broker-1").out
    assert "epochlog repair" not in epochlog("verify", tmp_path / "broker-2/t-0").out


def test_every_choice_of_random_clusters_is_told_with_what_it_loses(tmp_path: Path) -> None:
    found, document = of(*write_clusters(tmp_path, "incident", range(60)))
    stakes = {stake.partition: stake for stake in found.stakes}
    assert len(stakes) > 20
    for partition in document["partitions"]:
        stake = stakes.get(f"{partition['topic']}-{partition['partition']}")
        lost = [each for each in partition["candidates"] if each["lost"] and each["lost"]["records"]]
        if lost:
            assert stake is not None
            told = " ".join(stake.sentences)
            for span in (each["lost"] for each in lost):
                records, control = span["records"] - span["control_records"], span["control_records"]
                assert not records or f", {counted(records, 'record')} " in told
                assert not control or f" {counted(control, 'control record')} " in told
            assert all(f"{each['replica']}" in told for each in partition["candidates"])
            assert stake.records == max(each["lost"]["records"] - each["lost"]["control_records"] for each in lost)
        if partition["verdict"] == "unknown":
            assert found.headline.startswith("Not everything is known")


def test_no_election_is_proposed_where_the_copy_that_loses_least_is_not_to_be_trusted(tmp_path: Path) -> None:
    found, document = of(*write_clusters(tmp_path, "incident", range(60)))
    stakes = {stake.partition for stake in found.stakes}
    doubtful = {
        f"{each['topic']}-{each['partition']}"
        for each in document["partitions"]
        for candidate in each["candidates"]
        if candidate["replica"] == each["least_loss"] and candidate["damage"]
    } & stakes
    assert 1 < len(doubtful) < len(stakes)
    (warning,) = [step for step in found.steps if step.what.startswith("Let no copy of ")]
    elections = [step for step in found.steps if step.check]
    assert found.steps.index(warning) < min(map(found.steps.index, elections))
    listed = {
        f"{each['topic']}-{each['partition']}"
        for step in elections
        for command in step.commands
        if command.startswith("echo ")
        for each in json.loads(shlex.split(command)[1])["partitions"]
    }
    assert listed
    assert listed.isdisjoint(doubtful)
    verified = {Path(command.split()[2]).name for command in warning.commands}
    assert verified <= doubtful
    assert verified


def test_no_election_is_proposed_of_what_is_not_known() -> None:
    document = audit_locally([replicas("diverged")]).document
    for each in document["partitions"]:
        if each["topic"] == "hwloss":
            each.update(verdict="unknown", verdicts=["unknown"])
    steps = incident_of(document).steps
    assert [step.check for step in steps if step.check] == ["broker-1 leads diverge-0"]
    start = next(step for step in steps if "Start broker-1, and no other broker" in step.what)
    assert str(start.loses).startswith(
        "what was not read, or is not to be trusted, of hwloss-0: whichever broker starts may lead"
    )
    assert [
        step.what for step in steps if step.what.startswith("Make what could not be read") and "hwloss-0" in step.what
    ]
    assert not [command for step in steps for command in step.commands if "hwloss" in command]


def test_commands_are_words_of_a_shell_and_ours_are_commands_that_there_are(tmp_path: Path) -> None:
    root = tmp_path / "it's a root; rm -rf"
    for number in (1, 2):
        kept = batches(3) + batches(number, epoch=number, start=9, branch=str(number))
        write_root(root / f"broker {number}", {"t-0": kept}, node=number)
    found, _ = of(root)
    commands = [shlex.split(command) for step in found.steps for command in (*step.commands, *step.check_commands)]
    assert any(words[:2] == ["epochlog", "elect"] for words in commands)
    known = {command.__name__ for command in COMMANDS}
    paths = {str(place) for place in root.iterdir()}
    for words in commands:
        assert words[0] != "epochlog" or words[1] in known
        strange = {word.removesuffix(".kept").removesuffix(".new").rpartition("=")[2] for word in words if ";" in word}
        assert strange <= paths, "a path is one word"


def test_copies_of_one_leader_share_a_sentence(tmp_path: Path) -> None:
    old = batches(2)
    roots = [
        write_root(tmp_path / f"broker-{node}", {"t-0": [*old, *batches(more, epoch=epoch, start=6)]}, node=node)
        for node, epoch, more in ((1, 1, 2), (2, 1, 2), (3, 2, 3), (4, 2, 3))
    ]
    found, document = of(*roots)
    assert len(document["partitions"][0]["forks"]) == 4
    told = [each for each in found.stakes[0].sentences if each.startswith("Two leaders wrote")]
    [sentence] = told
    assert sentence.startswith("Two leaders wrote from offset 6 on: broker-1 and broker-2 under epoch 1")
    assert "and broker-3 and broker-4 under epoch 2" in sentence
