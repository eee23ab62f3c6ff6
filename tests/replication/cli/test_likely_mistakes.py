"""What is most likely mistyped: one line that says what is wrong, where, and what to type."""

from pathlib import Path

import pytest

from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog

ONE, TWO = (replicas("diverged") / name for name in ("broker-1", "broker-2"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["explain", "diverge", ONE],
            (
                "TOPIC-PARTITION: 'diverge' names no partition; give a topic with a partition's number: epochlog "
                "explain diverge-0 DIR (see "
            ),
        ),
        (["explain", ONE, "diverge-0"], "names no partition; the partition comes first, then the directories: "),
        (
            ["salvage", ONE, TWO, "--kept", "broker-2"],
            (
                "epochlog: no target is named; look first with --dry-run, then write the records to a new file "
                "(--output lost.jsonl, --output lost.parquet), a new log directory (--output lost), or a cluster "
                "(--produce HOST:PORT)"
            ),
        ),
        (
            ["salvage", ONE, TWO, "--kept", "broker-2", "--output", "lost", "--dry-run"],
            "--output: nothing is written with --dry-run; leave one of them out",
        ),
        (
            ["serve", "--read-only", ONE, "--listen", "9092"],
            (
                "--listen: '9092' is a port without a host; write 127.0.0.1:9092 for this machine alone, or :9092 for "
                "each of its addresses"
            ),
        ),
        (
            ["serve", "--read-only", ONE, "--listen", "here"],
            "--listen: 'here' is no address to listen on: the port is missing; write HOST:PORT, such as 127.0.0.1:9092",
        ),
        (
            ["salvage", ONE, TWO, "--kept", "broker-2", "--dry-run", "--topics", ","],
            "--topics: it names no topic; is it a shell variable that is not set?",
        ),
        (["plan", ONE, TWO], "--leader'; write epochlog plan --leader DIR --follower DIR (see `epochlog plan --help`)"),
        (["truncate", ONE, "100"], "--to'; write epochlog truncate DIR --to OFFSET (see "),
        (["explain", "diverge-0"], "'DIR...'; write epochlog explain TOPIC-PARTITION DIR... (see "),
        (["mirror", "copy"], "; write epochlog mirror --bootstrap HOST:PORT,... "),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else None,
)
def test_one_line_says_what_to_type(words: list[object], said: str) -> None:
    outcome = epochlog(*words)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert said in outcome.err


def test_a_directory_of_brokers_is_verified() -> None:
    assert epochlog("verify", ONE.parent).status == 0


def test_why_no_broker_answers_an_election_is_said_first(tmp_path: Path) -> None:
    client = tmp_path / "client.properties"
    client.write_text("default.api.timeout.ms=100\nrequest.timeout.ms=100\n")
    outcome = epochlog(
        *("elect", "--bootstrap", "127.0.0.1:1", "--election-type", "preferred", "--all-topic-partitions"),
        *("--command-config", client),
    )
    first, second = outcome.err.splitlines()
    assert (outcome.status, second) == (1, "Timeout waiting for election results")
    assert first.startswith("no broker answers: 127.0.0.1:1: cannot connect: Connection refused; check the host")
