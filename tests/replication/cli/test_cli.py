"""Every command: help, JSON, exit status, and one clear line for what it cannot do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from logstore import LogFile
from logstore.offline.batch_scan import SMALL
from replication.cli.main import GROUPS
from tests.data.replicas import damaged, replicas
from tests.logstore.batches import batch, record
from tests.logstore.kernels.sizes import JIT
from tests.logstore.verify.logs import write_log
from tests.replication.cli.command import COMMANDS, epochlog

NAMES = [command.__name__ for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_in_two_ways(name: str) -> None:
    outcome = epochlog(name, "-h")
    assert outcome.status == 0
    assert len(outcome.out) > 100
    assert epochlog("help", name) == outcome


def test_help_by_itself_is_that_of_epochlog() -> None:
    outcome = epochlog("--help")
    assert outcome.status == 0
    assert epochlog("help") == epochlog("help", "help") == outcome


def test_help_for_no_command_says_so() -> None:
    outcome = epochlog("help", "audits")
    assert (outcome.status, outcome.out) == (2, "")
    assert "No such command 'audits'. Did you mean 'audit'" in outcome.err


def test_help_lists_the_commands_in_groups() -> None:
    listed = re.findall(r"^(?:([A-Z]\w+):|  ([a-z]+)  .+)$", epochlog("--help").out, re.MULTILINE)
    groups: dict[str, list[str]] = {}
    for group, name in listed:
        if group:
            groups[group] = []
        else:
            groups[[*groups][-1]].append(name)
    groups.pop("Options", None)
    assert groups == {
        "Incident": ["incident", "audit", "advise", "salvage"],
        "Inspect": ["verify", "epochs", "dump", "plan", "explain", "reconcile"],
        "Change": ["recover", "repair", "truncate"],
        "Clusters": ["cluster", "elect", "transactions", "mirror"],
        "Brokers": ["serve", "format", "broker", "controller"],
        "Tool": ["demo", "schema", "warm", "version"],
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_command_speaks_json_and_shows_two_or_three_examples_of_what_it_takes(name: str) -> None:
    help_text = epochlog(name, "-h").out
    assert "--json" in help_text
    examples = re.findall(rf"^    epochlog {name}\b.*$", help_text.partition("\n  Examples:\n")[2], re.MULTILINE)
    assert len(examples) in {2, 3}
    options = set(re.findall(r"(?<!\S)--[a-z][a-z-]+", " ".join(examples)))
    assert options <= set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", help_text, re.MULTILINE))


def test_the_page_of_commands_has_all_of_them_in_the_same_groups() -> None:
    page = (Path(__file__).parents[3] / "docs/commands.md").read_text()
    listed = re.findall(
        r"^(?:### (.+)|\| `epochlog ([a-z]+)` \| .+)$", page.partition("\n## Exit status")[0], re.MULTILINE
    )
    assert [group or name for group, name in listed] == [
        each for group, commands in GROUPS.items() for each in (group, *(command.__name__ for command in commands))
    ]


@pytest.mark.parametrize("name", ["verify", "epochs", "dump"])
def test_a_path_that_is_missing_is_one_line_and_status_2(name: str, tmp_path: Path) -> None:
    outcome = epochlog(name, tmp_path / "nowhere")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("epochlog: ")
    assert "nowhere" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("name", ["verify", "epochs"])
@pytest.mark.parametrize("content", [None, "a file that says nothing"])
def test_a_directory_without_logs_is_one_line_and_status_2(name: str, content: str | None, tmp_path: Path) -> None:
    if content:
        (tmp_path / "notes.txt").write_text(content)
    outcome = epochlog(name, tmp_path)
    assert (outcome.status, outcome.out) == (2, "")
    assert "neither a log.dirs root nor a partition directory" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_directory_that_holds_several_brokers_roots_is_read_and_not_changed() -> None:
    brokers = replicas("diverged")
    apart = [epochlog("verify", brokers / f"broker-{node}").out for node in (1, 2, 3)]

    together = epochlog("verify", brokers)
    refused = epochlog("recover", brokers, "--output", "nowhere")

    assert together.status == 0
    assert all(f"broker-{node}" in together.out for node, out in enumerate(apart, 1) if len(out.splitlines()) > 2)
    assert (refused.status, refused.out) == (2, "")
    assert "name" in refused.err


def test_directories_that_are_only_called_like_partitions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "dbus-1").mkdir()
    (tmp_path / "dbus-1/session.conf").write_text("")
    assert [epochlog(name, tmp_path).status for name in ("verify", "epochs", "dump")] == [2, 2, 2]


def test_a_file_in_place_of_a_directory_is_one_line_and_status_2(tmp_path: Path) -> None:
    (tmp_path / "orders-0").write_text("")
    outcome = epochlog("verify", tmp_path / "orders-0")
    assert outcome.status == 2
    assert "not a directory" in outcome.err


def test_a_file_that_cannot_be_read_is_a_finding_and_status_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged("unknown_file", tmp_path)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(LogFile, "open", refuse)  # root may open everything, and tests may run as root
    outcome = epochlog("verify", tmp_path / "broker-2/steady-1")
    assert outcome.status == 2
    assert "file-unreadable" in outcome.out
    assert "Permission denied" in outcome.out
    assert "file unreadable" in outcome.out.splitlines()[-1]


def test_links_in_a_loop_are_reported(tmp_path: Path) -> None:
    damaged("unknown_file", tmp_path)
    log = next((tmp_path / "broker-2/steady-1").glob("*.log"))
    log.unlink()
    log.symlink_to(log.name)
    outcome = epochlog("verify", log.parent, "--json")
    assert log.name in {finding["file"] for finding in outcome.document["findings"]}


def test_verify_exits_1_on_damage_and_prints_each_finding(tmp_path: Path) -> None:
    damaged("record_bitflip", tmp_path)
    outcome = epochlog("verify", tmp_path / "broker-2", "--json")
    assert outcome.status == 1
    assert [(finding["kind"], finding["offset"]) for finding in outcome.document["findings"]] == [
        ("corrupt-batch", 341)
    ]
    text = epochlog("verify", tmp_path / "broker-2")
    assert text.status == 1
    assert "corrupt-batch" in text.out
    assert "1 finding of damage\n" in text.out


def test_verify_of_several_roots_tells_in_which_one_a_finding_is(tmp_path: Path) -> None:
    damaged("record_bitflip", tmp_path)
    root, sound = tmp_path / "broker-2", replicas("reconciled") / "broker-1"
    [alone] = epochlog("verify", root, "--json").document["findings"]
    [among_others] = epochlog("verify", sound, root, "--json").document["findings"]
    assert among_others == alone
    assert alone["directory"] == str(root)


def test_verify_exits_0_on_sound_replicas() -> None:
    outcome = epochlog("verify", *sorted(replicas("reconciled").iterdir()), "--records", "--json")
    assert (outcome.status, outcome.document["findings"], outcome.document["error"]) == (0, [], None)


def test_a_single_partition_directory_will_do() -> None:
    outcome = epochlog("verify", replicas("reconciled") / "broker-1/txns-0", "--json")
    assert (outcome.status, outcome.document["findings"]) == (0, [])


def test_plan_prints_one_object_per_partition() -> None:
    root = replicas("diverged")
    outcome = epochlog("plan", "--leader", root / "broker-1", "--follower", root / "broker-2", "--json")
    forked = next(each for each in outcome.document["partitions"] if each["topic"] == "diverge")
    assert outcome.status == 1
    assert forked == {
        "topic": "diverge",
        "partition": 0,
        "protocol": "kip-320",
        "rounds": [
            {"requested_epoch": 5, "answer_epoch": 4, "answer_end_offset": 420},
            {"requested_epoch": 3, "answer_epoch": 3, "answer_end_offset": 300},
        ],
        "truncate_to": 300,
        "log_end_offset": 377,
        "relation": "forked",
        "records_lost": 77,
        "bytes_lost": 13539,
        "leader_damage": None,
        "follower_damage": None,
        "snapshot": None,
        "committed_end": None,
        "cluster": None,
        "electable": None,
        "committed_lost": None,
    }


def test_plan_takes_single_partitions_and_each_protocol() -> None:
    root = replicas("diverged")
    for protocol in ("high-watermark", "kip-101", "kip-320"):
        outcome = epochlog(
            "plan",
            "--leader",
            root / "broker-1/diverge-0",
            "--follower",
            root / "broker-2/diverge-0",
            "--protocol",
            protocol,
            "--json",
        )
        assert [each["protocol"] for each in outcome.document["partitions"]] == [protocol]


def test_plan_refuses_replicas_with_nothing_in_common() -> None:
    leader, follower = replicas("diverged") / "broker-1", replicas("healed") / "broker-1"
    outcome = epochlog("plan", "--leader", leader, "--follower", follower)
    assert outcome.status == 2
    assert "no two of them hold the same partition" in outcome.err


def test_advise_names_replicas_by_their_roots() -> None:
    outcome = epochlog("advise", *sorted(replicas("diverged").iterdir()), "--json")
    forked = next(each for each in outcome.document["partitions"] if each["topic"] == "hwloss")
    assert outcome.status == 3
    assert (forked["latest_and_longest"], forked["least_loss"]) == ("broker-2", "broker-1")
    assert (forked["kafkas_choice"], forked["choices_differ"]) == (None, True)
    assert forked["election"]["why_unknown"].startswith("none of the directories holds the cluster's metadata")
    with LogFile.open(replicas("diverged") / f"broker-2/hwloss-0/{0:020d}.log") as log:
        batches = [batch for batch in log.batches(0) if batch.base_offset >= 300]
    lost = {
        "records": 5,
        "control_records": 0,
        "first_offset": 300,
        "last_offset": 304,
        "epochs": [5],
        "min_timestamp": min(batch.base_timestamp for batch in batches),
        "max_timestamp": max(batch.max_timestamp for batch in batches),
    }
    assert forked["candidates"][0] == {
        "replica": "broker-1",
        "last_epoch": 4,
        "log_end_offset": 420,
        "damage": None,
        "lost": lost,
        "acknowledged": lost,
        "maybe_acknowledged": {**dict.fromkeys(lost), "records": 0, "control_records": 0, "epochs": []},
        "acknowledged_at_most": 5,
    }
    document = epochlog("advise", *sorted(replicas("diverged").iterdir()), "--json", "--epochs-only").document
    [by_epochs] = [each for each in document["by_epochs"] if each["topic"] == "hwloss"]
    assert by_epochs["replicas"][0] == {
        "replica": "broker-1",
        "last_epoch": 4,
        "end_offset": 420,
        "lost": {"broker-2": {"truncate_to": 300, "records_lost": 5, "bytes_lost": 926}},
        "damage": None,
    }


def test_advise_tells_roots_of_one_name_apart(tmp_path: Path) -> None:
    roots = []
    for broker in ("broker-1", "broker-2"):
        root = tmp_path / broker / "kafka-logs"
        root.parent.mkdir()
        root.symlink_to(replicas("diverged") / broker)
        roots.append(root)
    outcome = epochlog("advise", *roots, "--json")
    names = {standing["replica"] for each in outcome.document["partitions"] for standing in each["candidates"]}
    assert names == {"broker-1/kafka-logs", "broker-2/kafka-logs"}


def test_advise_needs_two_roots() -> None:
    outcome = epochlog("advise", replicas("diverged") / "broker-1")
    assert outcome.status == 2
    assert "at least two roots" in outcome.err


def test_epochs_tells_both_accounts_and_rebuilds(tmp_path: Path) -> None:
    expected = damaged("epoch_checkpoint_missing_entry", tmp_path / "replicas")
    partition = tmp_path / "replicas" / expected["replica"] / "ledger-0"
    before = (partition / "leader-epoch-checkpoint").read_bytes()
    outcome = epochlog("epochs", partition, "--rebuild", "--output", tmp_path / "rebuilt", "--json")
    assert outcome.status == 1
    [document] = outcome.document["partitions"]
    assert outcome.document["written"] == [str(tmp_path / "rebuilt/ledger-0/leader-epoch-checkpoint")]
    assert [finding["kind"] for finding in document["findings"]] == ["epoch-entry-missing"]
    rebuilt = (tmp_path / "rebuilt/ledger-0/leader-epoch-checkpoint").read_bytes()
    sound = replicas("healed") / expected["replica"] / "ledger-0/leader-epoch-checkpoint"
    assert rebuilt == sound.read_bytes()
    assert (partition / "leader-epoch-checkpoint").read_bytes() == before


def test_epochs_replaces_no_other_checkpoint(tmp_path: Path) -> None:
    arguments = ("epochs", replicas("diverged") / "broker-2/diverge-0", "--rebuild", "--output", tmp_path)
    assert epochlog(*arguments).status == 0
    before = (tmp_path / "diverge-0/leader-epoch-checkpoint").read_bytes()
    (tmp_path / "diverge-0/leader-epoch-checkpoint").write_bytes(before + b"\n")
    assert epochlog(*arguments).status == 2
    assert (tmp_path / "diverge-0/leader-epoch-checkpoint").read_bytes() == before + b"\n"


def test_epochs_never_rebuilds_in_place() -> None:
    assert epochlog("epochs", replicas("diverged") / "broker-1", "--rebuild").status == 2


def test_without_the_command_lines_libraries_one_line_says_what_to_install() -> None:
    code = "import sys\nsys.modules['typer'] = None\nfrom replication.cli.__main__ import run\nrun()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "epochlog: the command line needs typer: install the extra `cli`, in a checkout: pip install '.[cli]'\n"
    )


@pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_a_large_log_is_verified_by_one_thread_and_without_numba_once_its_kernels_are_kept(tmp_path: Path) -> None:
    records = [record(offset_delta=delta, value=bytes(2_000)) for delta in range(100)]
    batches = [batch(records=records, base_offset=base) for base in range(0, 1_200, 100)]
    assert sum(map(len, batches)) > SMALL
    directory = write_log(tmp_path, {0: batches})
    code = (
        f"import os, sys\nsys.argv[1:] = ['verify', '--records', {str(directory)!r}]\n"
        "from replication.cli.__main__ import run\ntry:\n    run()\nexcept SystemExit as ended:\n"
        "    threads = len(os.listdir('/proc/self/task')) if sys.platform == 'linux' else 1\n"
        "    loaded = [name for name in ('numba', 'crc32c') if name in sys.modules]\n"
        "    print(ended, threads, loaded, file=sys.stderr)"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "0 1 []\n"


def test_help_and_version_load_no_kernels() -> None:
    for arguments in (["--help"], ["version"]):
        code = (
            "import sys\nfrom replication.cli.main import main\n"
            f"try:\n    main({arguments})\nexcept SystemExit:\n    pass\n"
            "print([name for name in ('numba', 'pyspark', 'pyarrow') if name in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stderr.strip() == "[]"
