"""Random questions about partitions that change, as the recorded cases put them."""

from random import Random
from typing import Any

VERSIONS = ("4.3-IV0", "4.0-IV1", "3.7-IV2", "3.5-IV2", "3.3-IV3")
SHAPES = ("as it is", "fewer in sync", "more in sync", "any in sync", "reassigned", "cancelled", "crashed", "recovery")


def question(random: Random) -> dict[str, Any]:
    """Return a question: a partition, who is active, what is wished for, under which rules."""
    partition = partition_of(random)
    return {
        "partition": partition,
        "active_brokers": sorted(random.sample(range(8), random.randint(0, 7))),
        "election": random.choice(["PREFERRED", "ONLINE", "UNCLEAN"]),
        "target": target_of(random, partition),
        "metadata_version": random.choice(VERSIONS),
        "elr_enabled": random.random() < 0.5,
        "min_isr": random.randint(1, 3),
        "use_last_known_leader": random.random() < 0.7,
    }


def partition_of(random: Random) -> dict[str, Any]:
    replicas = random.sample(range(8), random.randint(1, 6))
    isr = random.sample(replicas, random.randint(0, len(replicas)))
    rest = [replica for replica in replicas if replica not in isr]
    adding = random.sample(replicas, random.randint(0, len(replicas) - 1)) if random.random() < 0.3 else []
    others = [replica for replica in replicas if replica not in adding]
    removing = random.sample(others, random.randint(0, len(others))) if random.random() < 0.3 else []
    return {
        "replicas": replicas,
        "isr": isr,
        "removing_replicas": removing,
        "adding_replicas": adding,
        "leader": random.choice([*isr, -1]),
        "leader_epoch": random.randint(0, 9),
        "partition_epoch": random.randint(0, 9),
        "leader_recovery_state": random.choice(["RECOVERED", "RECOVERED", "RECOVERING"]),
        "elr": sorted(random.sample(rest, random.randint(0, len(rest)))),
        "last_known_elr": sorted(random.sample(rest, min(len(rest), random.choice([0, 1, 1, 2])))),
    }


def target_of(random: Random, partition: dict[str, Any]) -> dict[str, Any]:
    replicas, isr = partition["replicas"], partition["isr"]
    match random.choice(SHAPES):
        case "fewer in sync":
            return {"isr": random.sample(isr, random.randint(0, len(isr)))}
        case "more in sync":
            return {"isr": [*isr, *(replica for replica in replicas if replica not in isr)]}
        case "any in sync":
            return {"isr": random.sample(replicas, random.randint(0, len(replicas)))}
        case "reassigned":
            wished = random.sample(range(8), random.randint(1, 4))
            removing = sorted(set(replicas) - set(wished))
            adding = sorted(set(wished) - set(replicas))
            named = {"removing_replicas": removing, "adding_replicas": adding}
            return {"replicas": wished + removing, **{name: ids for name, ids in named.items() if ids}}
        case "cancelled":
            return {"isr": isr or replicas[:1], "replicas": replicas, "removing_replicas": [], "adding_replicas": []}
        case "crashed":
            gone = random.choice(replicas)
            return {"isr": [each for each in isr if each != gone], "unclean_shutdown_replicas": [gone]}
        case "recovery":
            return {"leader_recovery_state": random.choice(["RECOVERED", "RECOVERING"])}
        case _:
            return {}
