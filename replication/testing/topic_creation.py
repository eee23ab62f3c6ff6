"""Topics that a test asks the controller of its cluster for."""

from collections.abc import Mapping, Sequence

from replication.cluster.controller.topics.topics import NewTopic
from replication.cluster.standalone.requests.broker_requests import Decider
from replication.wire.error_code import ErrorCode


def create_topic(
    controller: Decider,
    name: str,
    partitions: int,
    replication_factor: int,
    replicas: Sequence[Sequence[int]],
    configs: Mapping[str, str],
) -> None:
    """Make a topic; `replicas` names the brokers of each partition, else both counts hold.

    Raises ValueError where the controller refuses.
    """
    assigned = {number: tuple(each) for number, each in enumerate(replicas)}
    counts = (-1, -1) if assigned else (partitions, replication_factor)
    topic = NewTopic(name, *counts, assigned, configs)
    (answer,) = controller.decide(lambda deciding: deciding.create_topics([topic]))
    if answer.error is not ErrorCode.NONE:
        raise ValueError(f"{name}: {answer.error.name}{f': {answer.message}' if answer.message else ''}")
