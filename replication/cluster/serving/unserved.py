"""What is not served of copies, and why."""

from typing import NamedTuple

from logstore.topic_partition import TopicPartition


class Unserved(NamedTuple):
    """What is not served, or not to its files' end, and why."""

    partition: TopicPartition
    broker: str
    """The name of its copy."""
    error: Exception
    is_partly_served: bool = False
    """Whether what precedes the place that the error names is served."""
