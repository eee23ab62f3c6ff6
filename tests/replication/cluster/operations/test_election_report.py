"""What became of elections is told in the tool's words."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cluster.operations.election_report import ElectionReport
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionResult, ElectionType

partitions = st.builds(TopicPartition, st.sampled_from(["a", "b-c"]), st.integers(0, 5))
codes = st.sampled_from([ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED, *ErrorCode])
results = st.dictionaries(partitions, st.builds(ElectionResult, codes, st.none() | st.just("told")))


@given(st.sampled_from(ElectionType), results)
def test_each_partition_is_told_of_once(kind: ElectionType, told: Mapping[TopicPartition, ElectionResult]) -> None:
    report = ElectionReport(kind, told)
    assert sorted([*report.elected, *report.not_needed, *report.failed]) == sorted(told)
    lines = list(report.lines)
    assert len(lines) == bool(report.elected) + bool(report.not_needed) + len(report.failed)
    assert report.complaint == (f"{len(report.failed)} replica(s) could not be elected" if report.failed else "")
    document = report.as_json()
    assert (document["elected"], document["failed"]) == (len(report.elected), len(report.failed))
    assert len(document["partitions"]) == len(told)


def test_success_comes_first_then_what_was_fine_then_each_failure() -> None:
    report = ElectionReport(
        ElectionType.UNCLEAN,
        {
            TopicPartition("a", 0): ElectionResult(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
            TopicPartition("a", 1): ElectionResult(ErrorCode.ELECTION_NOT_NEEDED, "not needed"),
            TopicPartition("a", 2): ElectionResult(ErrorCode.NONE),
            TopicPartition("b", 0): ElectionResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "No such topic as b"),
            TopicPartition("a", 3): ElectionResult(ErrorCode.NONE),
        },
    )
    failed = "Error completing leader election (UNCLEAN) for partition: "
    usual = "Eligible topic partition leaders are not available."
    assert list(report.lines) == [
        "Successfully completed leader election (UNCLEAN) for partitions a-2, a-3",
        "Valid replica already elected for partitions a-1",
        f"{failed}a-0: ELIGIBLE_LEADERS_NOT_AVAILABLE: {usual}",
        f"{failed}b-0: UNKNOWN_TOPIC_OR_PARTITION: No such topic as b",
    ]
