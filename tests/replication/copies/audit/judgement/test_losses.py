"""What is lost under each leader: distinct records, counted beside a model that has each record by itself."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.files.offset_checkpoint import CLEANER_OFFSET_CHECKPOINT
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Severity
from replication.copies.audit.comparison import batch_reader, comparison, gone_records, unreadable_records
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.examination import batch_watch, range_digests
from replication.copies.audit.examination.range_digests import RANGE_BITS
from replication.copies.audit.judgement import losses
from replication.copies.audit.judgement.committed_records import COMMITTED_RECORDS_LOST
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.judgement.recommendation import Candidate
from replication.copies.audit.judgement.verdict import PartitionVerdict, Verdict
from replication.copies.audit.judgement.wording import loss_in_words
from replication.copies.audit.snapshots.leaderships import EpochRange
from replication.copies.audit.snapshots.registered import Registered
from tests.data.replicas import LABELS, cross, replicas
from tests.replication.copies.audit.copies import examine_all, judge_all
from tests.replication.copies.audit.logs import Copy, Written, change_record, examined, write_copies

TIMESTAMP = 1_000
"""Of all records that `Copy` writes."""
BIG = 1 << 20
"""Bytes of a segment that takes all."""


class Identity(NamedTuple):
    """What makes a record the same in two copies."""

    epoch: int
    offset: int


def identities(copy: Copy) -> set[Identity]:
    """All records of a copy that retention has left."""
    offset, found = 0, set()
    for batch in copy.batches:
        found |= {Identity(batch.epoch, each) for each in range(offset, offset + batch.count)}
        offset += batch.count
    return {each for each in found if each.offset >= copy.start_offset}


@contextmanager
def ranges_of(bits: int) -> Iterator[None]:
    """Let ranges of offsets be so small that a few batches fill many of them."""
    with ExitStack() as stack:
        for module in (range_digests, comparison, batch_reader, losses, unreadable_records, gone_records):
            stack.enter_context(patch.object(module, "RANGE_BITS", bits))
        stack.enter_context(patch.object(comparison, "RANGES_AT_ONCE", 2))
        yield


def judged(copies: list[Copy], high_watermarks: list[int | None], bits: int = RANGE_BITS) -> PartitionVerdict:
    with TemporaryDirectory() as directory, ranges_of(bits):
        return judge(marked(examined(write_copies(Path(directory), copies)), *high_watermarks))


def marked(copies: list[ExaminedCopy], *marks: int | None) -> list[ExaminedCopy]:
    """Copies with these high watermarks, or with one that all have."""
    return [
        replace(each, summary=replace(each.summary, high_watermark=mark, checkpointed_high_watermark=mark))
        for each, mark in zip(copies, marks if len(marks) > 1 else marks * len(copies), strict=True)
    ]


def candidates(verdict: PartitionVerdict) -> dict[str, Candidate]:
    assert verdict.recommendation is not None
    return {each.replica: each for each in verdict.recommendation.candidates}


def least_loss(copies: list[Copy], high_watermarks: list[int | None]) -> str | None:
    recommendation = judged(copies, high_watermarks).recommendation
    return recommendation and recommendation.least_loss


@st.composite
def families(draw: st.DrawFn) -> list[Copy]:
    """Copies that each went on from some point of another's log: under an epoch of its own, or with fewer records."""
    counts = st.integers(1, 4)
    trunk = tuple(Written(0, count) for count in draw(st.lists(counts, min_size=1, max_size=6)))
    copies = [Copy(trunk, draw(st.sampled_from([200, 100_000])))]
    for number in range(1, draw(st.integers(2, 4))):
        parent = draw(st.sampled_from(copies)).batches
        kept = parent[: draw(st.integers(1, len(parent)))]
        own = tuple(Written(number, count, f"b{number}") for count in draw(st.lists(counts, max_size=4)))
        copies.append(Copy((*kept, *own), draw(st.sampled_from([200, 100_000]))))
    return copies


@settings(max_examples=60, deadline=None)
@given(families(), st.data(), st.sampled_from([0, 2, RANGE_BITS]))
def test_each_record_that_the_leader_lacks_counts_once(copies: list[Copy], data: st.DataObject, bits: int) -> None:
    ends = [sum(batch.count for batch in copy.batches) for copy in copies]
    marks = [data.draw(st.none() | st.integers(0, end)) for end in ends]
    told = candidates(judged(copies, marks, bits))
    for number, leader in enumerate(copies, 1):
        loss = told[f"broker-{number}"].loss
        assert loss is not None
        lost = set().union(*map(identities, copies)) - identities(leader)
        acknowledged = {
            each
            for copy, mark in zip(copies, marks, strict=True)
            for each in identities(copy) & lost
            if each.offset < (mark or 0)
        }
        for span, expected in ((loss.lost, lost), (loss.acknowledged, acknowledged)):
            assert span.records == len(expected)
            assert span.epochs == tuple(sorted({each.epoch for each in expected}))
            assert span.first_offset == min((each.offset for each in expected), default=None)
            assert span.last_offset == max((each.offset for each in expected), default=None)
            assert span.min_timestamp == span.max_timestamp == (TIMESTAMP if expected else None)


@settings(max_examples=40, deadline=None)
@given(families(), st.data())
def test_the_choices_are_the_rules_and_a_critical_finding_says_what_the_longest_log_lacks(
    copies: list[Copy], data: st.DataObject
) -> None:
    ends = [sum(batch.count for batch in copy.batches) for copy in copies]
    marks: list[int | None] = [data.draw(st.integers(0, end)) for end in ends]
    verdict = judged(copies, marks)
    told, recommendation = candidates(verdict), verdict.recommendation
    assert recommendation is not None
    kafkas, least = (
        recommendation.candidate(name) for name in (recommendation.latest_and_longest, recommendation.least_loss)
    )
    assert kafkas is not None
    assert least is not None
    place = {name: (each.last_epoch, each.log_end_offset) for name, each in told.items()}
    lost = {
        name: (each.loss.acknowledged.records, each.loss.maybe_acknowledged.records, each.loss.lost.records)
        for name, each in told.items()
        if each.loss
    }
    assert place[kafkas.replica] == max(place.values())
    assert lost[least.replica] == min(lost.values())
    assert verdict.recommended == least.replica
    assert kafkas.loss is not None
    critical = {each.replica for each in verdict.findings if each.finding.severity is Severity.CRITICAL}
    acknowledged = {
        each for copy, mark in zip(copies, marks, strict=True) for each in identities(copy) if each.offset < (mark or 0)
    }
    lacking = acknowledged - identities(copies[int(kafkas.replica[-1]) - 1])
    expected = {f"broker-{number}" for number, copy in enumerate(copies, 1) if identities(copy) & lacking}
    assert critical == expected


def test_losses_of_which_one_contains_the_other_are_not_added() -> None:
    trunk = (Written(0, 100),)
    shorter, longer = (*trunk, Written(1, 45)), (*trunk, Written(1, 45), Written(1, 21))
    newer = (*trunk, Written(2, 1, "n"))
    told = candidates(judged([Copy(each, BIG) for each in (shorter, longer, newer)], [145, 140, 101]))
    loss = told["broker-3"].loss
    assert loss is not None
    assert (loss.lost.records, loss.acknowledged.records) == (66, 45)
    assert {name: span.records for name, span in loss.by_replica.items()} == {"broker-1": 45, "broker-2": 45}


def test_a_few_records_of_a_later_epoch_do_not_outweigh_many_that_were_acknowledged() -> None:
    trunk = (Written(0, 10),)
    old = (*trunk, *(Written(1, 90) for _ in range(10)))
    verdict = judged([Copy(each, BIG) for each in (old, old, (*trunk, Written(2, 34, "n")))], [900, 900, 44])
    assert verdict.recommendation is not None
    assert (verdict.recommendation.latest_and_longest, verdict.recommendation.least_loss) == ("broker-3", "broker-1")
    assert verdict.as_json()["choices_differ"] is True
    [first, second] = [each for each in verdict.findings if each.finding.severity is Severity.CRITICAL]
    assert (first.replica, second.replica) == ("broker-1", "broker-2")
    assert first.finding.kind == COMMITTED_RECORDS_LOST
    assert (first.finding.topic, first.finding.partition, first.finding.offset) == ("t", 0, 10)
    told = "890 records (offsets 10..899, leader epoch 1, written 1970-01-01 00:00:01 UTC) of t-0"
    assert first.finding.message.startswith(told)


def test_few_acknowledged_records_outweigh_many_that_were_promised_to_nobody() -> None:
    trunk = (Written(0, 10),)
    promised, longer = (*trunk, Written(1, 3)), (*trunk, *(Written(2, 90, "n") for _ in range(10)))
    assert least_loss([Copy(promised, BIG), Copy(longer, BIG)], [13, 10]) == "broker-1"


def test_what_lies_above_a_high_watermark_may_have_been_acknowledged_as_well_as_what_has_none() -> None:
    """It is written down every few seconds, and acks=1 does not wait for it."""
    trunk = (Written(0, 10),)
    few, many = (*trunk, Written(1, 3)), (*trunk, *(Written(2, 90, "n") for _ in range(10)))
    copies = [Copy(few, BIG), Copy(many, BIG)]
    for marks in ([None, 10], [10, 10], [0, 7], [10, None]):
        told = candidates(judged(copies, [*marks]))
        for replica, count in (("broker-1", 900), ("broker-2", 3)):
            loss = told[replica].loss
            assert loss is not None
            assert (loss.acknowledged.records, loss.maybe_acknowledged.records) == (0, count)
            assert told[replica].as_json()["acknowledged_at_most"] == count
        assert least_loss(copies, [*marks]) == "broker-2"


def test_of_some_it_is_known_and_of_the_others_not() -> None:
    told = candidates(
        judged([Copy((Written(0, 10), Written(0, 5), Written(0, 4)), BIG), Copy((Written(0, 10),), BIG)], [15, 10])
    )
    loss = told["broker-2"].loss
    assert loss is not None
    assert (loss.acknowledged.records, loss.acknowledged_at_most, loss.lost.records) == (5, 9, 9)


def test_what_a_leader_never_had_that_took_over_in_sync_was_acknowledged_with_acks_1_if_at_all(tmp_path: Path) -> None:
    trunk = Written(0, 10)
    copies = [Copy((trunk, Written(1, 5)), BIG), Copy((trunk, Written(2, 3)), BIG)]
    marks = marked(examined(write_copies(tmp_path, copies)), 10)
    for successions, at_most in (((EpochRange(0, 2),), 0), ((EpochRange(0, 1), EpochRange(2, 2)), 5)):
        verdict = judge(marks, registered=Registered(None, successions=successions))
        loss = candidates(verdict)["broker-2"].loss
        assert loss is not None
        assert (loss.acknowledged.records, loss.acknowledged_at_most, loss.lost.records) == (0, at_most, 5)


def test_the_fewest_records_are_lost_where_it_is_the_same_for_those_that_were_acknowledged() -> None:
    trunk = (Written(0, 10),)
    shorter, longer = (*trunk, Written(1, 3)), (*trunk, *(Written(2, 90, "n") for _ in range(10)))
    assert least_loss([Copy(shorter, BIG), Copy(longer, BIG)], [10, 10]) == "broker-2"


def test_what_retention_removed_from_the_leader_is_not_lost() -> None:
    batches = tuple(Written(0, 3) for _ in range(20))
    told = candidates(judged([Copy(batches, 200, start=12), Copy(batches, 200)], [60, 60]))
    assert [each.loss and each.loss.lost.records for each in told.values()] == [0, 0]


@pytest.mark.parametrize("damaged", ["corrupt", "missing"])
def test_what_is_damaged_in_the_leaders_log_is_lost_under_it_and_it_is_never_named_without_that(
    damaged: str, tmp_path: Path
) -> None:
    batches = tuple(Written(0, 3) for _ in range(20))
    partitions = write_copies(tmp_path, [Copy((*batches, Written(0, 3)), 300), Copy(batches, 300)])
    log = partitions["broker-1"].segments[1].log_path
    if damaged == "corrupt":
        data = bytearray(log.read_bytes())
        data[-1] ^= 1
        log.write_bytes(data)
    else:
        partitions["broker-1"].segments[1].log_path.unlink()
        partitions["broker-1"] = partitions["broker-1"].listed_again()
    verdict = judge(examined(partitions))
    told = candidates(verdict)
    [first, second] = [each.loss for each in told.values()]
    assert first is not None
    assert second is not None
    assert (first.lost.records > 0, second.lost.records) == (True, 3)
    assert told["broker-1"].damage is not None
    assert told["broker-2"].damage is None


def test_records_that_only_differ_are_lost_under_the_one_that_stands_alone(tmp_path: Path) -> None:
    batches = tuple(Written(0, 1) for _ in range(20))
    partitions = write_copies(tmp_path, [Copy(batches), Copy(batches), Copy(batches)])
    change_record(partitions["broker-2"], 7)
    verdict = judge(examined(partitions))
    assert verdict.verdict is Verdict.SILENT_DIVERGENCE
    lost = {name: each.loss and each.loss.lost.records for name, each in candidates(verdict).items()}
    assert lost == {"broker-1": 0, "broker-2": 1, "broker-3": 0}
    assert verdict.recommended == "broker-1"
    assert not [each for each in verdict.findings if each.finding.severity is Severity.CRITICAL]


@pytest.mark.parametrize("copies", [2, 4])
def test_records_that_differ_are_lost_under_any_leader_where_no_majority_tells_which_are_right(
    copies: int, tmp_path: Path
) -> None:
    batches = tuple(Written(0, 1) for _ in range(20))
    partitions = write_copies(tmp_path, [Copy(batches)] * copies)
    for number in range(2, copies + 1, 2):
        change_record(partitions[f"broker-{number}"], 7)
    verdict = judge(marked(examined(partitions), 20))
    for each in candidates(verdict).values():
        assert each.loss is not None
        assert (each.loss.lost.records, each.loss.lost.first_offset) == (1, 7)
        assert each.loss.acknowledged.records == 1
    printed = verdict.as_json()
    for candidate in printed["candidates"]:
        assert loss_in_words(printed, candidate).startswith("1 record (offset 7, leader epoch 0, ")
    critical = [each for each in verdict.findings if each.finding.severity is Severity.CRITICAL]
    assert len(critical) == copies // 2
    assert all("compare them before one is given up" in each.finding.message for each in critical)
    assert all("lies below the high watermark of this copy: it was ack" in each.finding.message for each in critical)


def flip(partition: PartitionDirectory, offset: int) -> None:
    """Alter one bit of the records of the batch with an offset."""
    for segment in partition.segments:
        with segment.open_log() as log:
            places = [each.position + 70 for each in log.batches() if each.base_offset <= offset <= each.last_offset]
        for place in places:
            data = bytearray(segment.log_path.read_bytes())
            data[place] ^= 1
            segment.log_path.write_bytes(data)


@pytest.mark.parametrize("bits", [0, 2, RANGE_BITS])
@pytest.mark.parametrize(
    ("damaged", "high_watermark", "expected"),
    [
        ({1: 21}, 24, {"broker-1": (21, 23)}),
        ({1: 21}, 22, {"broker-1": (21, 21)}),
        ({1: 21}, 21, {}),
        ({1: 6}, 24, {}),
        ({1: 6, 2: 7}, 24, {"broker-1": (6, 8), "broker-2": (6, 8)}),
    ],
    ids=["only here", "only here, in part", "not acknowledged", "also there", "corrupt here and there"],
)
def test_what_was_acknowledged_and_no_copy_has_sound_is_lost_whichever_leads(
    damaged: dict[int, int],
    high_watermark: int,
    expected: dict[str, tuple[int, int]],
    bits: int,
    tmp_path: Path,
) -> None:
    batches = tuple(Written(0, 3) for _ in range(10))
    with ranges_of(bits):
        partitions = write_copies(tmp_path, [Copy(batches, 300), Copy(batches[:6], BIG)])
        for number, offset in damaged.items():
            flip(partitions[f"broker-{number}"], offset)
        verdict = judge(marked(examined(partitions), high_watermark))
    for each in candidates(verdict).values():
        assert each.loss is not None
        found = {name: (span.first_offset, span.last_offset) for name, span in each.loss.unreadable.items()}
        assert found == expected
        for name, span in each.loss.unreadable.items():
            assert span.records == expected[name][1] - expected[name][0] + 1
            assert each.loss.acknowledged.records >= span.records
    critical = [each for each in verdict.findings if each.finding.kind == COMMITTED_RECORDS_LOST]
    told = {each.replica for each in critical if "corrupt here, and no other copy" in each.finding.message}
    assert told == set(expected)


def erase(partition: PartitionDirectory, how: str) -> PartitionDirectory:
    """Take the offsets 12..14 of batches of three out of a log whose segments hold three batches each."""
    if how == "all":
        for segment in partition.segments:
            segment.log_path.unlink()
        return partition.listed_again()
    [segment] = [each for each in partition.segments if each.base_offset == 9]
    with segment.open_log() as log:
        batches = [(each.position, each.size) for each in log.batches()]
    data = bytearray(segment.log_path.read_bytes())
    if how == "segment":
        segment.log_path.unlink()
    elif how == "emptied":
        segment.log_path.write_bytes(b"")
    elif how == "zeroed":
        position, size = batches[1]
        data[position : position + size] = bytes(size)
        segment.log_path.write_bytes(data)
    elif how == "cut out":
        position, size = batches[1]
        segment.log_path.write_bytes(data[:position] + data[position + size :])
    elif how == "zero tail":
        data[batches[1][0] :] = bytes(len(data) - batches[1][0])
        segment.log_path.write_bytes(data)
    elif how == "tail":
        segment.log_path.write_bytes(data[: batches[1][0]])
        for later in partition.segments:
            if later.base_offset > 9:
                later.log_path.unlink()
    return partition.listed_again()


ERASED = {
    "segment": (9, 17),
    "emptied": (9, 17),
    "zeroed": (12, 14),
    "cut out": (12, 14),
    "zero tail": (12, 17),
    "tail": (12, 27),
    "all": (0, 27),
}
"""The offsets that go, of ten batches of three below a high watermark of 28."""


def thirds(epoch: int = 0) -> Copy:
    return Copy(tuple(Written(epoch, 3) for _ in range(10)), 320)


def gone_findings(verdict: PartitionVerdict) -> dict[str, str]:
    told = [each for each in verdict.findings if "they are not there, here or in another copy" in each.finding.message]
    assert all(each.finding.severity is Severity.CRITICAL for each in told)
    return {each.replica: each.finding.message for each in told}


@pytest.mark.parametrize("bits", [0, 2, RANGE_BITS])
@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("how", ERASED)
def test_what_was_acknowledged_and_no_copy_has_any_more_is_lost_whichever_leads(
    how: str, copies: int, bits: int, tmp_path: Path
) -> None:
    first, last = ERASED[how]
    with ranges_of(bits):
        partitions = write_copies(tmp_path, [thirds()] * copies)
        assert [each.base_offset for each in partitions["broker-1"].segments] == [0, 9, 18, 27]
        erased = {name: erase(partition, how) for name, partition in partitions.items()}
        verdict = judge(marked(examined(erased), 28))
    for each in candidates(verdict).values():
        assert each.loss is not None
        assert {(span.first_offset, span.last_offset) for span in each.loss.gone.values()} == {(first, last)}
        assert each.loss.lost.records == each.loss.acknowledged.records == last - first + 1
    told = gone_findings(verdict)
    assert set(told) == set(partitions)
    assert all(each.startswith(f"{last - first + 1} records (offsets {first}..{last}") for each in told.values())


@pytest.mark.parametrize("bits", [0, 2, RANGE_BITS])
@pytest.mark.parametrize("how", ERASED)
def test_what_another_copy_still_has_is_not_gone(how: str, bits: int, tmp_path: Path) -> None:
    with ranges_of(bits):
        partitions = write_copies(tmp_path, [thirds(), thirds()])
        partitions["broker-1"] = erase(partitions["broker-1"], how)
        verdict = judge(marked(examined(partitions), 28))
    assert not gone_findings(verdict)
    told = candidates(verdict)["broker-2"]
    assert told.loss is not None
    assert not told.loss.lost.records


def test_what_another_copy_has_of_another_branch_is_gone(tmp_path: Path) -> None:
    trunk = tuple(Written(0, 3) for _ in range(3))
    left = Copy((*trunk, *(Written(1, 3) for _ in range(7))), 320)
    right = Copy((*trunk, *(Written(2, 3, "n") for _ in range(7))), 320)
    partitions = write_copies(tmp_path, [left, right])
    partitions["broker-1"] = erase(partitions["broker-1"], "zeroed")
    told = gone_findings(judge(marked(examined(partitions), 28)))
    assert set(told) == {"broker-1"}
    assert told["broker-1"].startswith("3 records (offsets 12..14, leader epoch 1)")


@pytest.mark.parametrize("how", ["segment", "zeroed"])
def test_what_was_not_acknowledged_or_may_have_been_cleaned_or_removed_by_retention_is_not_gone(
    how: str, tmp_path: Path
) -> None:
    partitions = write_copies(tmp_path / "one", [thirds()])
    erased = erase(partitions["broker-1"], how)
    assert not gone_findings(judge(marked(examined({"broker-1": erased}), ERASED[how][0])))
    for kept in ({"cleaner_offset": 18}, {"log_start_offset": 18}, {"unread": frozenset({CLEANER_OFFSET_CHECKPOINT})}):
        excused = replace(erased, checkpoints=erased.checkpoints._replace(**kept))
        assert not gone_findings(judge(marked(examined({"broker-1": excused}), 28))), kept
    others = write_copies(tmp_path / "several", [thirds(), replace(thirds(), start=6)])
    others["broker-1"] = erase(others["broker-1"], how)
    verdict = judge(marked(examined(others), 28))
    told = candidates(verdict)["broker-2"]
    assert told.loss is not None
    assert not told.loss.lost.records, "retention would have removed them under this leader"


def test_more_gaps_than_are_kept_one_by_one_are_counted_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_watch, "MOST_GAPS", 2)
    partitions = write_copies(tmp_path, [Copy(tuple(Written(0, 1) for _ in range(40)), 400)])
    for segment in partitions["broker-1"].segments[:-1]:
        with segment.open_log() as log:
            second = list(log.batches())[1]
        data = segment.log_path.read_bytes()
        segment.log_path.write_bytes(data[: second.position] + data[second.position + second.size :])
    erased = len(partitions["broker-1"].segments) - 1
    assert erased > 3
    [told] = gone_findings(judge(marked(examined(partitions), 40))).values()
    assert told.startswith(f"{erased} records")


@pytest.mark.parametrize("label", LABELS)
def test_two_copies_lose_what_kafkas_own_tool_counts(label: str) -> None:
    verdicts = judge_all(examine_all(replicas(label)))
    compared = 0
    for partition, verdict in verdicts.items():
        known = cross(label)["partitions"][str(partition)]["pairs"]
        told = candidates(verdict)
        if len(told) != 2:
            continue
        for pair, expected in known.items():
            loss = told[pair.split("->")[0]].loss
            assert loss is not None
            assert loss.lost.records == expected["records_lost"]
            compared += 1
    assert compared >= (4 if label != "healed" else 0)
