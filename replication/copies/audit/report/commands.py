"""What to do about a partition, or about all: sentences, most with a command to copy."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from replication.base.counted import counted
from replication.base.json_object import Json
from replication.copies.audit.judgement.cluster_commands import abort_transaction, reset_group
from replication.copies.audit.judgement.elected import absent_in_words, behind_in_words, candidate_of, worst_expected
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.judgement.verdict_sentence import is_lost_anyway, listed
from replication.copies.audit.judgement.wording import name_of

BOOTSTRAP: Final = '"$BOOTSTRAP"'
"""Where the cluster can be reached; the shell fills it in, and commands refuse an empty one."""

MOST_OF_A_KIND: Final = 5
"""Consumer groups, and transactions, that have a command each on one card."""


class Step(NamedTuple):
    """One thing to do."""

    text: str
    command: str | None = None


KEEP_STILL: Final = Step(
    "Start no broker and hold no election but as the steps below say: which broker starts first may decide who leads, "
    "and what the others truncate is gone. Keep these copies until all is well."
)
"""Comes before all else where some choice of a leader loses records."""
SET_BOOTSTRAP: Final = Step(
    "Set this to a broker that answers: commands below use it.", "export BOOTSTRAP=broker1:9092"
)


def last_steps(snapshots: Sequence[Json], *, is_live: bool = False) -> Iterator[Step]:
    """Yield how to verify that all is well; with `is_live` the brokers are running, and write to what was audited."""
    roots = _roots(snapshots)
    if len(snapshots) > 1 and all(map(_is_local, roots)):
        yield Step(
            "Wherever these copies may have changed since, read all of them again before you decide.",
            _shell("epochlog advise", *roots),
        )
    copies = "audit again" if is_live else "take new copies and audit them"
    yield Step(
        f"When the followers have caught up, {copies}: all should agree.",
        f"{_audit(snapshots, is_live=is_live)} --report after.html",
    )


def steps(
    partition: Json, snapshots: Sequence[Json], stranded: Sequence[Json] = (), hanging: Sequence[Json] = ()
) -> Iterator[Step]:
    """Yield what to do about a partition, in order.

    `stranded` are its committed offsets beyond a truncation, `hanging` the transactions that nobody will end.
    """
    places = {branch["replica"]: branch["directory"] for branch in partition["branches"]}
    absent = absent_in_words(partition)
    if absent:
        yield Step(f"{absent[0].upper()}{absent[1:]}. Allow no unclean election before you have looked at it.")
    yield from (Step(f"{each}.") for each in behind_in_words(partition))
    if Verdict.UNKNOWN in partition["verdicts"]:
        yield _read_again(partition, snapshots)
    yield from _silent(partition, places)
    yield from _damaged(partition, places)
    yield from _election(partition, places)
    yield from _missing(partition)
    yield from _few((_abort(each) for each in hanging), len(hanging), "transactions are in the table of findings")
    yield from _few((_reset(each) for each in stranded), len(stranded), "groups are in the table of consumers")


def _read_again(partition: Json, snapshots: Sequence[Json]) -> Step:
    what = (
        f"Make sure that {listed(partition['unread'])} can be read"
        if partition["unread"]
        else "Make sure that all can be read"
    )
    return Step(
        f"{what}, take a copy that nothing changes, and audit again before you choose a leader.",
        _shell(_audit(snapshots), "--topics", partition["topic"]),
    )


def _silent(partition: Json, places: Mapping[str, str]) -> Iterator[Step]:
    """Compare the first records that differ of the first two copies that do."""
    pairs = (
        pair
        for pair in partition["pairs"]
        if Verdict.SILENT_DIVERGENCE in pair["verdicts"] and pair["first_difference"] is not None
    )
    for pair in pairs:
        names, offset = (pair["leader"], pair["follower"]), pair["first_difference"]
        if all(_is_local(places[name]) for name in names):
            sides = (f"<({_dump(places[name], offset, offset + 1)} | grep '^|')" for name in names)
            yield Step(
                f"Find out which copy is right: compare the records of {listed(names)}. No broker will ever report or "
                "repair this.",
                f"diff {' '.join(sides)}",
            )
            return


def _damaged(partition: Json, places: Mapping[str, str]) -> Iterator[Step]:
    damaged = [each["replica"] for each in partition["candidates"] if each["damage"]]
    for name in damaged:
        if Verdict.DAMAGED in partition["verdicts"] and _is_local(places[name]):
            yield Step(f"See what is wrong on {name}.", _shell("epochlog verify", places[name], "--records"))
            yield Step(
                f"See what a broker would cut off when it recovers the log on {name}.",
                _shell("epochlog recover", places[name], "--dry-run"),
            )
    least = candidate_of(partition, partition["recommended"])
    if damaged and least and least["damage"]:
        yield Step(
            f"Least is lost if {least['replica']} leads, and it is not to be trusted: {least['damage']}. Keep all "
            "copies. Let none lead, and rebuild none, before you know what the damaged or differing parts held."
        )
    elif damaged and least:
        yield Step(
            f"Let {listed(damaged)} be rebuilt from {listed(_as_good_as(least, partition))}: with that broker stopped, "
            "move the partition's directory out of its log directory, and start it again once a sound copy leads."
        )


def _election(partition: Json, places: Mapping[str, str]) -> Iterator[Step]:
    """Yield how to keep what is lost under the leader that loses least: the runbook says how that one leads."""
    leader = partition["recommended"]
    expected, least = worst_expected(partition), candidate_of(partition, leader)
    if not (expected and least) or least["damage"] or is_lost_anyway(partition):
        return
    if not (expected["lost"]["records"] or partition["choices_differ"]):
        return
    losing = [pair for pair in partition["pairs"] if pair["leader"] == leader and pair["records_lost"]]
    for pair in losing:
        follower, offset = pair["follower"], pair["truncate_to"]
        if _is_local(places[follower]):
            file = re.sub(r"[^\w.-]", "_", f"{name_of(partition)}-on-{follower}.jsonl", flags=re.ASCII)
            yield Step(
                f"Keep what {follower} loses if {leader} leads: {counted(pair['records_lost'], 'record')}.",
                f"{_dump(places[follower], offset)} --json > {file}",
            )
    for pair in losing:
        paths = places[leader], places[pair["follower"]]
        if all(map(_is_local, paths)):
            command = _shell("epochlog plan", "--leader", paths[0], "--follower", paths[1])
            yield Step(f"Before {pair['follower']} starts again: see what it will truncate.", command)


def _as_good_as(least: Json, partition: Json) -> list[str]:
    """Name the copies under which no more is lost than under the one that loses least, and that are as sound."""
    keys = ("lost", "acknowledged", "damage")
    return [each["replica"] for each in partition["candidates"] if all(each[key] == least[key] for key in keys)]


def _missing(partition: Json) -> Iterator[Step]:
    if partition["missing"]:
        yield Step(
            "See which brokers should have a replica. One that starts with an empty disk fetches everything from the "
            "leader: let it start only when a copy that you chose leads.",
            f"epochlog cluster --bootstrap-server {BOOTSTRAP} {shlex.join(['--topics', partition['topic']])}",
        )


def _reset(offset: Json) -> Step:
    return Step(
        f"Group {offset['group']} has committed {offset['committed_offset']:,}, beyond {offset['truncate_to']:,}, "
        "where the logs diverge. Stop its consumers, and after the election see what a reset would do; --execute in "
        "place of --dry-run does it.",
        f"{reset_group(offset, BOOTSTRAP)} --dry-run",
    )


def _abort(transaction: Json) -> Step:
    whose = transaction["transactional_id"] or f"producer {transaction['producer_id']}"
    return Step(
        f"No coordinator will end the transaction of {whose} at offset {transaction['first_offset']:,}, and consumers "
        "of committed records wait before it. End it once the partition has a leader.",
        abort_transaction(transaction, BOOTSTRAP),
    )


def _few(found: Iterator[Step], count: int, rest: str) -> Iterator[Step]:
    """Yield so many steps, and how many there are more."""
    yield from islice(found, MOST_OF_A_KIND)
    if count > MOST_OF_A_KIND:
        yield Step(f"{count - MOST_OF_A_KIND:,} more {rest} below.")


def _dump(directory: str, first: int, end: int | str = "") -> str:
    return f"epochlog dump {shlex.quote(directory)}/*.log --records --offsets {first}:{end}"


def _roots(snapshots: Iterable[Json]) -> list[str]:
    return [root for each in snapshots for root in each["roots"]]


def _audit(snapshots: Sequence[Json], *, is_live: bool = False) -> str:
    """Return the command that audits the same again."""
    roots = _roots(snapshots)
    if roots and all(root.startswith("kafka://") for root in roots):
        return f"epochlog audit --bootstrap {BOOTSTRAP}"
    return _shell("epochlog audit", *roots, *(["--live"] if is_live else []))


def _is_local(place: str) -> bool:
    """Whether it is a path of this machine, and no URI."""
    return place.startswith("/")


def _shell(command: str, *words: str) -> str:
    return f"{command} {shlex.join(words)}"
