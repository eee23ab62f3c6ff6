"""What goes into the partitions of a broker and out of them."""

from logstore import AppendInfo, TopicPartition
from replication.cluster.broker.partitions.broker_traffic import BrokerTraffic, TrafficTotals
from replication.wire.error_code import ErrorCode

FIRST, SECOND, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("sent", 0)


def test_it_is_added_up_by_topic_and_in_all() -> None:
    traffic = BrokerTraffic()
    traffic.of(FIRST).appended(AppendInfo(10, 14, -1, 500), 500)
    traffic.of(SECOND).appended(AppendInfo(0, 0, -1, 80), 80)
    traffic.of(OTHER).fetched(70, is_follower=False)
    traffic.of(OTHER).fetched(30, is_follower=True)
    total, topics = traffic.totals()
    assert topics == {
        "orders": TrafficTotals(messages_in=6, bytes_in=580),
        "sent": TrafficTotals(bytes_out=70, replication_bytes_out=30),
    }
    assert total == TrafficTotals(messages_in=6, bytes_in=580, bytes_out=70, replication_bytes_out=30)


def test_of_a_partition_that_is_gone_its_part_of_the_sum_is_left() -> None:
    traffic = BrokerTraffic()
    traffic.of(FIRST).appended(AppendInfo(0, 4, -1, 500), 500)
    before, _ = traffic.totals()
    traffic.forget(FIRST)
    traffic.forget(OTHER)
    assert traffic.totals() == (before, {})
    assert traffic.of(FIRST).messages_in == 0


def test_a_producer_that_asks_the_wrong_broker_is_no_failure() -> None:
    traffic = BrokerTraffic()
    for error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_TIMESTAMP):
        traffic.of(FIRST).refused(error)
    assert traffic.totals()[0].failed_appends == 1
