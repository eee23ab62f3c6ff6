"""Every kind of damage shows, where it is, and no more than that: also what only another replica can tell."""

import shutil
from pathlib import Path

import pytest

from logstore.verify import Severity
from replication.copies.audit.judgement.verdict import PartitionVerdict, Verdict
from tests.data.replicas import damage_kinds, damaged, replicas
from tests.replication.copies.audit.copies import examine_all, judge_all

DAMAGED, MISSING, LAGGING = {Verdict.DAMAGED}, {Verdict.MISSING}, {Verdict.LAGGING}
SILENT = {Verdict.SILENT_DIVERGENCE}
VERDICTS = {
    "batch_length_overrun": DAMAGED | MISSING | LAGGING,
    "legit_compaction_differs": {Verdict.COMPACTION},
    "legit_retention_differs": {Verdict.RETENTION},
    "missing_middle_segment": DAMAGED | MISSING,
    "offset_gap": DAMAGED | MISSING,
    "silent_value_divergence": SILENT,
    "swapped_segments": DAMAGED | SILENT,
    "truncated_tail": DAMAGED | LAGGING,
    "zero_byte_log": DAMAGED | MISSING,
}
"""What is said of the partition; of a file that is damaged by itself only that it is."""
NO_ERROR = {
    "hw_checkpoint_unparsable",  # a root's file
    "leftover_deleted",
    "leftover_swap",
    "legit_epoch_entry_at_leo",
    "missing_index",
    "missing_partition_dir",  # of which the other roots tell
    "timeindex_zero_padded",
    "unknown_file",
    "zero_tail",
}


def judged(root: Path) -> dict[str, PartitionVerdict]:
    return {str(partition): verdict for partition, verdict in judge_all(examine_all(root)).items()}


@pytest.mark.parametrize("kind", damage_kinds())
def test_a_damaged_copy_shows_where_it_is(kind: str, tmp_path: Path) -> None:
    expected = damaged(kind, tmp_path)
    verdicts = judged(tmp_path)
    here = {f"{expected['topic']}-{expected['partition']}", expected.get("also_partition")}
    for name, verdict in verdicts.items():
        if name in here:
            told = set() if kind in NO_ERROR else VERDICTS.get(kind, DAMAGED)
            assert set(verdict.verdicts) == (told or {Verdict.IDENTICAL})
            assert {
                pair.verdicts for pair in verdict.pairs if expected["replica"] not in {pair.leader, pair.follower}
            } <= {(Verdict.IDENTICAL,)}
        else:
            assert set(verdict.verdicts) <= {Verdict.IDENTICAL, Verdict.RETENTION}


@pytest.mark.parametrize("kind", ["silent_value_divergence", "swapped_segments"])
def test_what_no_replica_can_tell_alone_is_located(kind: str, tmp_path: Path) -> None:
    expected = damaged(kind, tmp_path)
    verdict = judged(tmp_path)[f"{expected['topic']}-{expected['partition']}"]
    [found] = [each for each in verdict.findings if each.finding.severity is Severity.ERROR]
    assert (found.replica, found.finding.file) == (expected["replica"], expected["file"])
    assert found.finding.kind == "silent-divergence"
    assert found.finding.severity.value == expected["severity"]
    assert found.finding.offset == expected["offset_range"][0]
    first, last = expected["position_range"] or (0, 0)
    assert first <= (found.finding.position or 0) <= last


@pytest.mark.parametrize("kind", ["silent_value_divergence", "record_bitflip", "out_of_order_batches"])
def test_a_suspect_copy_should_not_lead(kind: str, tmp_path: Path) -> None:
    expected = damaged(kind, tmp_path)
    verdict = judged(tmp_path)[f"{expected['topic']}-{expected['partition']}"]
    assert verdict.recommended not in {None, expected["replica"]}


def test_what_the_cleaner_may_remove_is_no_difference_of_records(tmp_path: Path) -> None:
    damaged("legit_compaction_differs", tmp_path)
    verdict = judged(tmp_path)["compacted-0"]
    assert verdict.findings == ()
    assert all(not each.divergences and not each.missing_left + each.missing_right for each in verdict.comparisons)


def test_a_directory_where_a_log_belongs_is_damage_located_there(tmp_path: Path) -> None:
    for replica in ("broker-1", "broker-2"):
        shutil.copytree(replicas("reconciled") / "broker-1/codecs-0", tmp_path / replica / "codecs-0")
    log = tmp_path / "broker-2/codecs-0" / f"{0:020d}.log"
    log.unlink()
    log.mkdir()
    examined = examine_all(tmp_path)
    found = [finding for _, examination in examined for finding in examination.findings]
    assert {(each.replica, each.finding.file) for each in found if each.finding.kind == "not-a-file"} == {
        ("broker-2", log.name)
    }
    [verdict] = judge_all(examined).values()
    assert Verdict.DAMAGED in verdict.verdicts
    assert verdict.recommended == "broker-1"
