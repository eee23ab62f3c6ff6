"""What to do: commands for what a partition needs, which can be copied as they are, whatever files are called."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from replication.audit import audit_locally
from replication.copies.audit.report.card import Case
from replication.copies.audit.report.commands import BOOTSTRAP, MOST_OF_A_KIND, Step, last_steps, steps
from replication.copies.audit.runbook.runbook import runbook
from tests.data.replicas import damaged, replicas
from tests.replication.copies.audit.report.documents import agreeing, candidate, document, forked, pair, span

SNAPSHOTS = document()["snapshots"]
ROOTS = "/copies/broker-1 /copies/broker-2 /copies/broker-3"


def offset(group: str, topic: str = "payments") -> dict[str, Any]:
    return {
        "group": group,
        "topic": topic,
        "partition": 0,
        "committed_offset": 410,
        "truncate_to": 300,
        "replica": "broker-1",
    }


def told(partition: dict[str, Any], *stranded: dict[str, Any]) -> list[Step]:
    return [*steps(partition, SNAPSHOTS, stranded)]


def commands(partition: dict[str, Any], *stranded: dict[str, Any]) -> list[str]:
    return [step.command for step in told(partition, *stranded) if step.command]


def test_a_fork_keeps_what_is_lost_and_shows_what_followers_truncate() -> None:
    assert told(forked()) == [
        Step(
            "Keep what broker-2 loses if broker-1 leads: 50 records.",
            "epochlog dump /copies/broker-2/payments-0/*.log --records --offsets 300: --json > "
            "payments-0-on-broker-2.jsonl",
        ),
        Step(
            "Before broker-2 starts again: see what it will truncate.",
            "epochlog plan --leader /copies/broker-1/payments-0 --follower /copies/broker-2/payments-0",
        ),
    ]


def test_no_election_is_proposed_that_changes_nothing_or_of_which_too_little_is_known() -> None:
    anyway = agreeing("orders", 0, "damaged")
    anyway["candidates"] = [candidate(f"broker-{n}", 0, 100, span(9, 91), span(9, 91)) for n in (1, 2)]
    unknown = {**forked(), "verdicts": ["unknown", "forked"], "unread": ["broker-3"], "recommended": None}
    for partition in (agreeing("orders", 0, "lagging"), anyway, unknown):
        assert not [command for command in commands(partition) if "elect" in command]


def test_what_was_not_read_is_read_again_first() -> None:
    partition = {**forked(), "verdicts": ["unknown", "forked"], "unread": ["broker-3"], "recommended": None}
    first = told(partition)[0]
    assert first.text.startswith(
        "Make sure that broker-3 can be read, take a copy that nothing changes, and audit again"
    )
    assert first.command == f"epochlog audit {ROOTS} --topics payments"


def test_a_damaged_copy_is_looked_at_and_rebuilt_from_sound_ones() -> None:
    partition = forked()
    partition["verdicts"] = ["damaged"]
    partition["candidates"][1]["damage"] = "damaged, 3 errors in its log"
    assert [step.command for step in told(partition)[:3]] == [
        "epochlog verify /copies/broker-2/payments-0 --records",
        "epochlog recover /copies/broker-2/payments-0 --dry-run",
        None,
    ]
    assert told(partition)[2].text.startswith("Let broker-2 be rebuilt from broker-1: ")


def test_nothing_is_rebuilt_or_elected_where_the_copy_that_loses_least_is_not_to_be_trusted() -> None:
    partition = {**forked(), "verdicts": ["damaged", "forked"]}
    partition["candidates"][0]["damage"] = "damaged, 3 errors in its log"
    expected = "Least is lost if broker-1 leads, and it is not to be trusted: damaged, 3 errors in its log. Keep all"
    assert told(partition)[-1].text.startswith(expected)
    assert commands(partition) == [
        "epochlog verify /copies/broker-1/payments-0 --records",
        "epochlog recover /copies/broker-1/payments-0 --dry-run",
    ]
    unread = {**partition, "verdicts": ["unknown", "damaged"], "unread": ["broker-4"], "recommended": None}
    assert not [step for step in told(unread) if "rebuil" in step.text]


def test_silent_differences_are_compared_record_by_record() -> None:
    partition = forked()
    silent = pair("broker-1", "broker-3", "identical", 300, 0)
    partition |= {"pairs": [{**silent, "verdicts": ["silent-divergence"], "first_difference": 17}], "forks": []}
    sides = [
        f"<(epochlog dump /copies/{name}/payments-0/*.log --records --offsets 17:18 | grep '^|')"
        for name in ("broker-1", "broker-3")
    ]
    assert told(partition)[0].command == f"diff {' '.join(sides)}"


def test_missing_copies_are_looked_up_in_the_cluster() -> None:
    (step,) = told({**agreeing("orders", 0, "missing"), "missing": ["broker-3"]})
    assert step.command == f"epochlog cluster --bootstrap-server {BOOTSTRAP} --topics orders"


def test_groups_beyond_a_truncation_are_reset_with_kafkas_tool_and_only_so_many_one_by_one() -> None:
    stranded = [offset(f"group-{number}") for number in range(MOST_OF_A_KIND + 3)]
    last = told(forked(), *stranded)
    assert last[-1].text == "3 more groups are in the table of consumers below."
    assert last[-2].command == (
        f"kafka-consumer-groups.sh --bootstrap-server {BOOTSTRAP} --group group-{MOST_OF_A_KIND - 1} "
        "--topic payments:0 --reset-offsets --to-offset 300 --dry-run"
    )


def test_transactions_that_nobody_ends_are_aborted_with_kafkas_tool() -> None:
    transaction = {
        "topic": "payments",
        "partition": 0,
        "replica": "broker-1",
        "producer_id": 7,
        "producer_epoch": 0,
        "first_offset": 1_234,
        "transactional_id": "pay",
        "status": "Ongoing",
    }
    named, unnamed = steps(
        agreeing("payments", 0), SNAPSHOTS, hanging=[transaction, {**transaction, "transactional_id": None}]
    )
    assert named.text.startswith("No coordinator will end the transaction of pay at offset 1,234, and consumers of")
    assert unnamed.text.startswith("No coordinator will end the transaction of producer 7 at")
    assert named.command == (
        f"kafka-transactions.sh --bootstrap-server {BOOTSTRAP} abort --topic payments --partition 0 --start-offset 1234"
    )
    assert Case(agreeing("payments", 0), (), (), (transaction,)).needs_card
    assert not Case(agreeing("payments", 0), (), ()).needs_card


def test_object_stores_get_no_command_that_cannot_read_them() -> None:
    partition = forked()
    for branch in partition["branches"]:
        branch["directory"] = f"s3://backups/{branch['replica']}/payments-0"
    remote = [{**each, "roots": [f"s3://backups/{each['name']}"]} for each in SNAPSHOTS]
    partition["verdicts"] = ["damaged", "forked"]
    partition["candidates"][1]["damage"] = "damaged, 3 errors in its log"
    found = [step.command for step in steps(partition, remote, ())]
    assert not [command for command in found if command and "s3:" in command]
    assert [step.command for step in last_steps(remote)] == [
        "epochlog audit s3://backups/broker-1 s3://backups/broker-2 s3://backups/broker-3 --report after.html"
    ]


def run(command: str, directory: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command as somebody who pastes it into a shell."""
    environment: Mapping[str, str] = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", f"{before}\n{command}"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", ["$(touch pwned)", "`touch pwned`", "; touch pwned;", "'; touch pwned; '", '"\n x'])
def test_no_name_runs_anything(name: str, tmp_path: Path) -> None:
    partition = forked(topic=name)
    partition["verdicts"] = ["unknown", "silent-divergence", "damaged", "forked"]
    for key in ("candidates", "branches", "pairs"):
        for each in partition[key]:
            for role in ("replica", "leader", "follower"):
                if each.get(role) == "broker-2":
                    each[role] = name
    partition["branches"][1]["directory"] = f"/{name}/t-0"
    partition["candidates"][1]["damage"] = "damaged"
    partition["pairs"][0] |= {"verdicts": ["silent-divergence"]}
    partition |= {"kafkas_choice": name, "missing": [name]}
    snapshots = [{**each, "roots": [f"/{name}"]} for each in SNAPSHOTS]
    found = [*steps(partition, snapshots, [offset(name, name)]), *last_steps(snapshots)]
    pasted = [step.command for step in found if step.command]
    assert len(pasted) >= 7
    # The tools are stood in for by one that says what it was given.
    tools = "\n".join(f'{tool}() {{ printf "%s\\0" "$@"; }}' for tool in ("epochlog", "kafka-consumer-groups.sh"))
    for command in pasted:
        outcome = run(command, tmp_path, f"{tools}\nBOOTSTRAP=broker1:9092")
        assert not (tmp_path / "pwned").exists(), command
        assert outcome.stderr.replace("grep: (standard input): binary file matches", "").strip() == ""
    given = run(pasted[-1], tmp_path, tools).stdout.split("\0")
    assert given == ["audit", *[f"/{name}"] * 3, "--report", "after.html", ""]


def real(root: Path) -> Iterator[Step]:
    """The steps for all partitions of real copies."""
    with audit_locally([root], workers=0) as audited:
        found = audited.document
    for partition in found["partitions"]:
        case = Case(partition, (), ())
        if case.needs_card:
            yield from steps(partition, found["snapshots"], ())
    yield from last_steps(found["snapshots"])


def test_commands_do_what_they_say_on_real_copies_that_forked(tmp_path: Path) -> None:
    plans = []
    for step in real(replicas("diverged")):
        if step.command and BOOTSTRAP not in step.command:
            outcome = run(step.command, tmp_path)
            assert outcome.returncode in {0, 1, 3}, outcome.stderr
            plans += [outcome.stdout] if step.command.startswith("epochlog plan") else []
    kept = (tmp_path / "diverge-0-on-broker-2.jsonl").read_text().splitlines()
    assert len([line for line in kept if '"kind": "record"' in line]) == 77
    assert ["\t77\t" in plans[0], "\t5\t" in plans[1]] == [True, True]
    assert "Audit of broker-1, broker-2, broker-3" in (tmp_path / "after.html").read_text()


def test_an_election_without_a_broker_to_ask_is_refused(tmp_path: Path) -> None:
    with audit_locally([replicas("diverged")], workers=0) as audited:
        planned = [*runbook(audited.document, BOOTSTRAP)]
    elections = [command for step in planned for command in step.commands if "--election-type" in command]
    assert elections
    for command in elections:
        outcome = run(command, tmp_path, "unset BOOTSTRAP")
        assert outcome.returncode == 2
        assert "empty" in outcome.stderr


@pytest.mark.parametrize(
    ("kind", "expected"), [("silent_value_divergence", "payments-base-004322"), ("truncated_tail", "torn-batch")]
)
def test_commands_show_real_damage(kind: str, expected: str, tmp_path: Path) -> None:
    damaged(kind, tmp_path / "copies")
    shown = [run(step.command, tmp_path).stdout for step in real(tmp_path / "copies") if step.command]
    assert any(expected in each for each in shown)
