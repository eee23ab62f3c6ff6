"""A dictionary by partition that also finds what belongs to one topic."""

from hypothesis import given
from hypothesis import strategies as st

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.by_topic import ByTopic

partitions = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 3))


@given(st.lists(st.tuples(partitions, st.none() | st.integers())))
def test_it_is_a_dictionary_that_knows_topics(changes: list[tuple[TopicPartition, int | None]]) -> None:
    plain: dict[TopicPartition, int] = {}
    found: ByTopic[TopicPartition, int] = ByTopic(lambda partition: partition.topic)
    for partition, value in changes:
        for each in (plain, found):
            if value is None:
                each.pop(partition, None)
            else:
                each[partition] = value
    assert list(found.items()) == list(plain.items())
    for topic in "abcd":
        assert found.of_topic(topic) == [each for each in plain if each.topic == topic]


def test_a_topic_is_forgotten_without_a_look_at_others() -> None:
    asked: list[TopicPartition] = []

    def topic_of(partition: TopicPartition) -> str:
        asked.append(partition)
        return partition.topic

    found: ByTopic[TopicPartition, int] = ByTopic(topic_of)
    for number in range(100):
        found[TopicPartition(f"t{number}", 0)] = number
    asked.clear()
    for partition in found.of_topic("t7"):
        del found[partition]
    assert asked == [TopicPartition("t7", 0)]
