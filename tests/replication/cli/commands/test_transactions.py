"""`epochlog transactions` on copies, and what it refuses; tests/replication/cluster/transactions has a cluster."""

from pathlib import Path

import pytest

from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.copies.salvage.copies import ABORT, COMMIT, Part, data, marker, write_copy

DIVERGED = [replicas("diverged") / f"broker-{number}" for number in (1, 2, 3)]
TOLD = """\
5 broken transactions in 1 partition:
  t-0: producer 1 (epoch 0), offsets 0 to 0 of broker-1: broker-1 has committed it at 4; in
    broker-0, which diverges at 3, it is open, and consumers of committed records wait.
      kafka-transactions.sh --bootstrap-server BROKER:9092 abort --topic t --partition 0 --start-offset 0
  t-0: producer 2 (epoch 0), offsets 1 to 1 of broker-1: broker-1 has committed it at 5; broker-0,
    which diverges at 3, has aborted it at 3.
  t-0: producer 3 (epoch 0), offsets 2 to 3 of broker-1: in broker-0, which diverges at 3, it was
    committed without what lies beyond that.
  t-0: producer 4 (epoch 0), offsets 6 to 6 of broker-1: broker-0, which diverges at 3, has only
    later records of it, and it is open there.
      kafka-transactions.sh --bootstrap-server BROKER:9092 abort --topic t --partition 0 --start-offset 5
  t-0: producer 5 (epoch 0), offsets 7 to 7 of broker-1: broker-0, which diverges at 3, has none of
    its records, and its commit at 6.
Those that are open hang if no coordinator ends them: on the cluster, epochlog transactions
--bootstrap BROKER:9092 reports that, and with --abort ends them. Of one that the other copy has
committed, epochlog salvage then brings the records back.
"""


def transaction(epoch: int, producer: int, sequence: int = 0) -> Part:
    return data(epoch, b"x", producer=producer, sequence=sequence, transactional=True)


def copies(directory: Path) -> list[Path]:
    """With one transaction of each kind."""
    begun = [transaction(0, producer) for producer in (1, 2, 3)]
    kept = [*begun, marker(2, ABORT, 2), marker(2, COMMIT, 3), transaction(2, 4, 1), marker(2, COMMIT, 5)]
    other = [
        *begun,
        transaction(1, 3, 1),
        marker(1, COMMIT, 1),
        marker(1, COMMIT, 2),
        transaction(1, 4),
        transaction(1, 5),
    ]
    return [write_copy(directory / "broker-0", kept), write_copy(directory / "broker-1", other)]


def test_each_is_told_in_a_sentence_and_how_to_end_those_that_are_open(tmp_path: Path) -> None:
    outcome = epochlog("transactions", *copies(tmp_path), "--kept", "broker-0")
    assert outcome.status == 1
    assert outcome.out == TOLD


def test_json_has_the_same(tmp_path: Path) -> None:
    document = epochlog("transactions", *copies(tmp_path), "--kept", "broker-0", "--json").document
    assert (document["kept"], document["partitions"]) == ("broker-0", 1)
    assert {each["producer_id"]: each["kind"] for each in document["transactions"]} == {
        1: "end-cut-off",
        2: "decided-differently",
        3: "part-cut-off",
        4: "beginning-cut-off",
        5: "records-cut-off",
    }


def test_where_none_is_broken_that_is_said_and_the_status_is_0() -> None:
    outcome = epochlog("transactions", *DIVERGED, "--kept", "broker-2", "--topics", "diverge,hwloss")
    assert (outcome.status, outcome.out, outcome.err) == (0, "No broken transaction in 2 partitions.\n", "")


def test_what_was_not_read_for_damage_is_told(tmp_path: Path) -> None:
    roots = copies(tmp_path)
    log = roots[1] / "t-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[-1] ^= 1
    log.write_bytes(content)
    outcome = epochlog("transactions", *roots, "--kept", "broker-0", "--json")
    assert "t-0: broker-1 is not read behind its damage: " in outcome.err
    assert list(outcome.document["damaged"][0]["replicas"]) == ["broker-1"]
    assert 5 not in {each["producer_id"] for each in outcome.document["transactions"]}


def test_what_was_not_compared_and_damage_below_the_fork_are_told(tmp_path: Path) -> None:
    roots = copies(tmp_path)
    write_copy(roots[1] / "more", [data(0, b"x")], topic="alone")
    (roots[1] / "more" / "alone-0").rename(roots[1] / "alone-0")
    log = roots[1] / "t-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    content[80] ^= 1
    log.write_bytes(content)
    (roots[1] / "more").rmdir()
    outcome = epochlog("transactions", *roots, "--kept", "broker-0", "--json")
    assert outcome.status == 1
    assert "not compared, since only broker-1 holds them: alone-0" in outcome.err
    assert [each["topic"] for each in outcome.document["not_compared"]] == ["alone"]
    assert list(outcome.document["damaged"][0]["replicas"]) == ["broker-1"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([], "name either copies"),
        (["a", "--bootstrap", "b:1"], "name either copies"),
        (["a"], "--kept"),
        (["a", "--kept", "a", "--abort"], "add --bootstrap"),
        (["--bootstrap", "b:1", "--kept", "a"], "it belongs to copies"),
        (["--bootstrap", "b:1", "--dry-run"], "add --abort"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], what: str) -> None:
    outcome = epochlog("transactions", *arguments)
    assert outcome.status == 2
    assert what in " ".join(outcome.err.replace("│", " ").split())
