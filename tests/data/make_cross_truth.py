"""Say how replicas follow one another, by what two logs of Kafka's own, opened on copies of them, answer and do.

python -m tests.data.make_cross_truth VERSION LABEL...

writes truth/LABEL.cross.json for labels of replicas.py, after make_truth. Needs Java and Maven.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from tests.data.replicas import HERE, replicas, truth
from tests.oracle.kafka import JavaProgram
from tests.oracle.log_dump import Printed, dump_files
from tests.oracle.release import KafkaRelease, release_of

Records = dict[int, Printed]
UNDEFINED = (-1, -1)


@dataclass(frozen=True)
class Replica:
    """A broker's copy of a partition, and its records by offset."""

    directory: Path
    said: dict[str, Any]
    records: Records

    @property
    def last_epoch(self) -> int:
        epochs = [*self.said["epochs_from_batches"], *(self.said["leader_epoch_checkpoint"] or ())]
        return max((epoch for epoch, _ in epochs), default=-1)


class KafkasLog:
    """A log of Kafka's own, open on a copy of a replica."""

    def __init__(self, program: JavaProgram) -> None:
        self._program = program

    @contextmanager
    def opened(self, replica: Replica, clean: bool) -> Iterator[None]:
        """Let Kafka load a copy as its broker would at its start."""
        with tempfile.TemporaryDirectory(prefix="epochlog-truth-") as place:
            copy = shutil.copytree(replica.directory, Path(place) / replica.directory.name)
            point, start = replica.said["recovery_point_checkpoint"], replica.said["log_start_checkpoint"]
            self._ask(f"open {copy} clean={str(clean).lower()} recoveryPoint={point or 0} logStart={start or 0}")
            yield
            self._ask("close")

    def elect(self, epoch: int) -> None:
        """Begin an epoch at the log's end, as a new leader does."""
        self._ask(f"assignEpoch {epoch} {self.end_offset}")

    def end_of(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to this one and its end offset; UNDEFINED where there is none."""
        answer = self._ask(f"endOffsetForEpoch {epoch}")
        if answer == "none":
            return UNDEFINED
        found, end = map(int, answer.split())
        return found, end

    def truncate_to(self, offset: int) -> None:
        self._ask(f"truncateTo {offset}")

    @property
    def end_offset(self) -> int:
        return int(self._ask("leo"))

    @property
    def size(self) -> int:
        return int(self._ask("size"))

    @property
    def epochs(self) -> list[list[int]]:
        return [list(map(int, entry.split(":"))) for entry in self._ask("epochs").split()]

    def _ask(self, command: str) -> str:
        [answer] = self._program.ask(command)
        if answer.startswith("ERR"):
            raise RuntimeError(f"{command}: {answer}")
        return "" if answer == "empty" else answer


def dialogue(leader: KafkasLog, follower: KafkasLog) -> dict[str, Any]:
    """Truncate as a follower does that asks for the ends of epochs (KIP-101, KIP-279) until both know one."""
    rounds = []
    offset, completed = follower.end_offset, not follower.epochs
    while not completed:
        requested = follower.epochs[-1][0]
        epoch, end = leader.end_of(requested)
        rounds.append({"requested_epoch": requested, "answer_epoch": epoch, "answer_end_offset": end})
        offset, completed = answered(follower, (epoch, end), offset)
        follower.truncate_to(offset)
    return {"rounds": rounds, "truncate_to": offset}


def dialogue_while_fetching(leader: KafkasLog, follower: KafkasLog) -> dict[str, Any]:
    """Truncate as a follower does whose fetches name its last epoch (KIP-595), until they do not diverge."""
    rounds = []
    diverging = bool(follower.epochs)
    while diverging:
        requested, offset = follower.epochs[-1][0], follower.end_offset
        epoch, end = leader.end_of(requested)
        diverging = epoch < requested or end < offset
        told = {"requested_epoch": requested, "fetch_offset": offset}
        rounds.append(told | {"answer_epoch": epoch, "answer_end_offset": end, "diverging": diverging})
        if diverging:
            follower.truncate_to(answered(follower, (epoch, end), offset)[0])
            diverging = bool(follower.epochs)
    return {"rounds": rounds, "truncate_to": follower.end_offset}


def answered(follower: KafkasLog, answer: tuple[int, int], offset: int) -> tuple[int, bool]:
    """Return where a follower truncates after an answer, and whether it need not ask again."""
    if answer == UNDEFINED:
        return offset, True
    epoch, end = answer
    known, known_end = follower.end_of(epoch)
    if known == -1:
        return min(end, offset), True
    return min(known_end, offset, *([end] if known == epoch else [])), known == epoch


def first_difference(left: Records, right: Records) -> int | None:
    """Return the lowest offset at which both have a record, but not the same one of the same epoch."""
    return min((offset for offset in left.keys() & right.keys() if left[offset] != right[offset]), default=None)


def relation(difference: int | None, leader_end: int, follower_end: int) -> str:
    """Say how a follower stands to its leader."""
    if difference is not None:
        return "forked"
    if leader_end == follower_end:
        return "identical"
    return "lagging" if follower_end < leader_end else "ahead"


class Comparison:
    """Pairs of replicas of one label, on two logs of Kafka's own."""

    def __init__(self, leader: JavaProgram, follower: JavaProgram, clean: bool) -> None:
        self._leader, self._follower = KafkasLog(leader), KafkasLog(follower)
        self._clean = clean

    def of(self, leads: Replica, follows: Replica, epoch: int) -> dict[str, Any]:
        """Let one lead with a fresh epoch and the other truncate, by either protocol."""
        with self._leader.opened(leads, self._clean):
            self._leader.elect(epoch)
            with self._follower.opened(follows, self._clean):
                fetching = dialogue_while_fetching(self._leader, self._follower)
            with self._follower.opened(follows, self._clean):
                return self._compared(leads, follows, fetching)

    def _compared(self, leads: Replica, follows: Replica, fetching: dict[str, Any]) -> dict[str, Any]:
        leader, follower = self._leader, self._follower
        end, size, epochs = follower.end_offset, follower.size, follower.epochs
        asking = dialogue(leader, follower)
        cut = asking["truncate_to"]
        difference = first_difference(leads.records, follows.records)
        assert cut == fetching["truncate_to"] == min(leader.end_offset, end, end if difference is None else difference)
        return {
            "classification": relation(difference, leader.end_offset, end),
            "first_differing_offset": difference,
            "leader_leo": leader.end_offset,
            "follower_leo": end,
            "leader_epochs": leader.epochs,
            "follower_epochs_after_load": epochs,
            "truncation_on_fetch": fetching,
            "offset_for_leader_epoch": asking,
            "truncation_offset": cut,
            "records_lost": sum(offset >= cut for offset in follows.records),
            "bytes_lost": size - follower.size,
        }


def replicas_of(release: KafkaRelease, label: str) -> dict[str, dict[str, Replica]]:
    """All replicas by partition and broker."""
    dumped = dump_files(release, sorted(replicas(label).glob("broker-*/*/*.log")))
    found: dict[str, dict[str, Replica]] = {}
    for broker, content in truth(label)["brokers"].items():
        for partition, said in content["partitions"].items():
            directory = replicas(label) / broker / partition
            logs = [dump for file, dump in dumped.items() if file.parent == directory]
            records = {
                int(record["offset"]): record for log in logs for record in with_epochs(log.batches, log.records)
            }
            found.setdefault(partition, {})[broker] = Replica(directory, said, records)
    return found


def with_epochs(batches: list[Printed], records: list[Printed]) -> Iterator[Printed]:
    """Records with the leader epochs of their batches."""
    remaining = iter(records)
    for batch in batches:
        for _ in range(int(batch["count"])):
            yield next(remaining) | {"epoch": batch["partitionLeaderEpoch"]}


def cross_truth_of(release: KafkaRelease, label: str) -> dict[str, Any]:
    """How each replica follows each other one of its partition."""
    [clean] = {broker["clean_shutdown"] for broker in truth(label)["brokers"].values()}
    partitions = {}
    with JavaProgram(release, "LogOracle") as leader, JavaProgram(release, "LogOracle") as follower:
        comparison = Comparison(leader, follower, clean)
        for partition, copies in replicas_of(release, label).items():
            epoch = 1 + max(replica.last_epoch for replica in copies.values())
            pairs = {
                f"{leads}->{follows}": comparison.of(copies[leads], copies[follows], epoch)
                for leads, follows in permutations(copies, 2)
            }
            partitions[partition] = {"pairs": pairs}
    note = "key 'L->F': broker L is elected leader with a fresh epoch at its log end, broker F follows it"
    return {"snapshot": label, "generator": f"UnifiedLog {release.version}", "note": note, "partitions": partitions}


def main(release: KafkaRelease, labels: list[str]) -> None:
    """Write a file for each label."""
    for label in labels:
        written = json.dumps(cross_truth_of(release, label), separators=(",", ":"))
        (HERE / f"truth/{label}.cross.json").write_text(written + "\n")


if __name__ == "__main__":
    main(release_of(sys.argv[1]), sys.argv[2:])
