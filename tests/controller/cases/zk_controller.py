"""What the classes of Kafka 3.9.1's ZooKeeper controller decided."""

from tests.controller.case import Case, Cases, Document, missing, only

LISTS = (
    "leader_selector_cases",
    "reassign_to_cases",
    "partition_transitions",
    "replica_transitions",
    "offline_replica_isr_removal",
)


def cases(document: Document) -> Cases:
    only(document, "source", *LISTS)
    for name in LISTS:
        for index, case in enumerate(document.get(name, ())):
            yield Case(
                case.get("id", f"{name}-{index}"),
                missing("controller of the ZooKeeper era"),
                not_yet="replication/controller/classic",
            )
