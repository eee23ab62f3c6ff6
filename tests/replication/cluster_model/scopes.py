"""The clusters that are visited in full, the smallest first."""

from dataclasses import replace

from tests.replication.cluster_model.scope import Scope

ELR = Scope(name="2 replicas that may lose what is not synced, both in sync for acks=all")
"""Nothing is lost even when all fall, one after the other."""
ELR_OF_ONE = replace(ELR, name="2 replicas that may lose what is not synced, one in sync for acks=all", min_isr=1)
CLASSIC = replace(ELR, name="2 replicas that keep their logs, without ELR", min_isr=1, elr=False, loses_tails=False)
BALANCED = replace(
    ELR, name="2 replicas that may lose what is not synced, the first preferred", balances=True, stops=False
)
THREE = replace(
    ELR,
    name="3 replicas, 2 in sync for acks=all",
    replicas=3,
    stops=False,
    fetches_late=False,
)

LOSSY_CLASSIC = replace(ELR, name="2 replicas that may lose what is not synced, without ELR", elr=False).bounded(
    records=1, failures=2, changes=3
)
"""What ELR is for: the last in sync comes back without its tail, and leads."""

REPEATED_REQUESTS = replace(
    ELR,
    name="2 replicas, requests that come twice",
    repeats_requests=True,
    stops=False,
    fetches_late=False,
).bounded(records=0, failures=1, changes=2)
"""Why `IsrChanges` sees to it that none does: what was refused once is granted later, and the leader does not wait."""

SMALL = [
    ELR.bounded(records=1, failures=1, changes=3),
    ELR_OF_ONE.bounded(records=1, failures=1, changes=3),
    CLASSIC.bounded(records=1, failures=1, changes=3),
]
LARGE = [
    ELR.bounded(records=1, failures=2, changes=4),
    ELR_OF_ONE.bounded(records=1, failures=2, changes=4),
    CLASSIC.bounded(records=2, failures=1, changes=4),
    BALANCED.bounded(records=1, failures=2, changes=4),
    THREE.bounded(records=1, failures=1, changes=1),
]
"""Each some minutes and up to some gigabytes."""
