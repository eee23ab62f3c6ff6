"""Logs that parted, by real producers: whose sequence numbers and transactions break where the follower is cut."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore import Log, LogConfig, Record
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch_template import BatchTemplate
from logstore.offline.partition_directory import PartitionDirectory
from replication.copies.audit.copy_summary import ProducerEnd
from replication.copies.audit.examination.examination import examine
from replication.copies.audit.judgement.findings.cuts import MOST_FINDINGS, cut_findings
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.verdict import PairVerdict, Verdict
from replication.planning import Relation
from tests.replication.copies.audit.copies import copy_of
from tests.replication.copies.audit.summaries import T0, summary

FOLLOWER, LEADER = "broker-1", "broker-2"


class Step(NamedTuple):
    """What a producer does next: write a record, or end its transaction, where it has begun one."""

    producer: int
    ends: bool = False


@dataclass
class Producers:
    """What is known of the producers after some steps, kept by the simplest means."""

    end: int = 0
    sequences: dict[int, int] = field(default_factory=dict)
    last_writes: dict[int, int] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)

    def take(self, step: Step, log: Log, epoch: int) -> None:
        """Let the step happen, and remember it."""
        if not step.ends:
            sequence = self.sequences.get(step.producer, -1) + 1
            template = BatchTemplate(
                producer_id=step.producer, producer_epoch=0, base_sequence=sequence, is_transactional=True
            )
            log.append([Record.of(b"", timestamp=1_000)], leader_epoch=epoch, template=template)
            self.sequences[step.producer], self.last_writes[step.producer] = sequence, self.end
            self.begun.setdefault(step.producer, self.end)
        elif step.producer in self.begun:
            log.append_end_transaction(step.producer, 0, commit=True, leader_epoch=epoch)
            del self.begun[step.producer]
            self.ended[step.producer] = self.end
        else:
            return
        self.end += 1


def write(directory: Path, common: Sequence[Step], tail: Sequence[Step], epoch: int) -> tuple[Producers, int]:
    """Write a copy; return what is known of its producers, and where the tail begins."""
    directory.parent.mkdir()
    producers = Producers()
    with Log.open(directory, LogConfig(retention_ms=-1), clock=lambda: 1_000) as log:
        for step in common:
            producers.take(step, log, 0)
        fork = producers.end
        for step in tail:
            producers.take(step, log, epoch)
    return producers, fork


def expected(follower: Producers, leader: Producers, fork: int) -> set[tuple[str, int]]:
    """Kinds and producers."""
    broken = {
        ("producer-sequence-cut", producer)
        for producer, sequence in follower.sequences.items()
        if follower.last_writes[producer] >= fork and leader.sequences.get(producer, -1) < sequence
    }
    broken |= {
        ("transaction-cut", producer)
        for producer, begun in follower.begun.items()
        if begun < fork <= follower.last_writes[producer]
    }
    return broken | {
        ("transaction-end-cut", producer)
        for producer, begun in leader.begun.items()
        if begun < fork <= follower.ended.get(producer, -1)
    }


steps = st.lists(st.builds(Step, st.integers(0, 2), st.booleans()), max_size=8)


@settings(max_examples=40, deadline=None)
@given(steps, steps, steps)
def test_what_breaks_at_a_cut(common: list[Step], of_follower: list[Step], of_leader: list[Step]) -> None:
    with TemporaryDirectory() as place:
        names = {name: Path(place) / name / "t-0" for name in (FOLLOWER, LEADER)}
        follower, fork = write(names[FOLLOWER], [Step(0), *common], of_follower, 1)
        leader, _ = write(names[LEADER], [Step(0), *common], [*of_leader, Step(9)], 2)
        opened = {name: PartitionDirectory.open(directory) for name, directory in names.items()}
        copies = [copy_of(each, examine(each, name)) for name, each in opened.items()]
        verdict = judge(copies)
    told = list(cut_findings(T0, [copy.summary for copy in copies], verdict.pairs, LEADER))
    assert {each.replica for each in told} <= {FOLLOWER}
    named = {(each.finding.kind, int(each.finding.message.split("producer ")[1].split(" ")[0])) for each in told}
    assert named == expected(follower, leader, fork)
    assert len(told) == len(named)


def test_producers_without_sequence_numbers_have_none_to_lose(tmp_path: Path) -> None:
    template = BatchTemplate(producer_id=7, producer_epoch=0, is_transactional=True)
    with Log.open(tmp_path / "t-0", LogConfig(retention_ms=-1)) as log:
        log.append([Record.of(b"")], leader_epoch=0, template=template, origin=AppendOrigin.COORDINATOR)
    found = examine(PartitionDirectory.open(tmp_path / "t-0"), FOLLOWER).summary
    assert found.producers == ()
    assert [each.producer_id for each in found.open_transactions] == [7]


def pair(truncate_to: int | None) -> PairVerdict:
    return PairVerdict(LEADER, FOLLOWER, Relation.FORKED, truncate_to, 0, 0, (Verdict.FORKED,), None)


@pytest.mark.parametrize(
    ("of_leader", "is_cut"),
    [
        (None, True),
        (ProducerEnd(7, 3, 10, 60), False),
        (ProducerEnd(7, 3, 9, 60), True),
        (ProducerEnd(7, 3, 11, 60), False),
        (ProducerEnd(7, 2, 50, 60), True),  # it has begun anew here, which the leader does not know
        (ProducerEnd(7, 4, 0, 60), False),
        (ProducerEnd(7, 3, 2**31 - 2, 60), True),  # sequence numbers start over after 2^31 - 1
    ],
)
def test_how_far_the_leader_knows_a_producer(of_leader: ProducerEnd | None, *, is_cut: bool) -> None:
    leader = summary(LEADER, producers=(of_leader,) if of_leader else ())
    follower = summary(FOLLOWER, producers=(ProducerEnd(7, 3, 10, 80),))
    told = list(cut_findings(T0, [leader, follower], [pair(50)], LEADER))
    assert [(each.replica, each.finding.offset) for each in told] == ([(FOLLOWER, 80)] if is_cut else [])


@pytest.mark.parametrize("truncate_to", [81, 100, None])
def test_where_nothing_of_it_is_cut(truncate_to: int | None) -> None:
    follower = summary(FOLLOWER, producers=(ProducerEnd(7, 3, 10, 80),))
    assert list(cut_findings(T0, [summary(LEADER), follower], [pair(truncate_to)], LEADER)) == []
    assert list(cut_findings(T0, [summary(LEADER), follower], [pair(50)], FOLLOWER)) == []


def test_many_producers_are_not_all_named() -> None:
    producers = tuple(ProducerEnd(number, 0, 0, 80) for number in range(10 * MOST_FINDINGS))
    follower = replace(summary(FOLLOWER), producers=producers)
    assert len(list(cut_findings(T0, [summary(LEADER), follower], [pair(50)], LEADER))) == MOST_FINDINGS
