"""Holds a broker's roots against what each has kept of the others: one may have been put back as it was earlier."""

from collections.abc import Iterable, Mapping, Sequence

from logstore.directory.log_directory import LogDirectory
from logstore.files.broker.kept_claims import Claims
from logstore.files.broker.other_roots import OtherRoots
from logstore.files.clean_shutdown import UNKNOWN_BROKER_EPOCH
from logstore.topic_partition import TopicPartition


def note_each_other(roots: Iterable[LogDirectory], broker_epoch: int) -> None:
    """Keep in each root what the others hold, before all are closed in order. Raises OSError, CorruptMetadataError."""
    online = [root for root in roots if root.failure is None]
    if len(online) < 2 or broker_epoch == UNKNOWN_BROKER_EPOCH:
        return
    claims = {root_id: root.claims for root in online if (root_id := root.directory_id) is not None}
    for root in online:
        own = root.directory_id
        root.keep_others(OtherRoots(broker_epoch, {each: held for each, held in claims.items() if each != own}))


def hold_against_each_other(roots: Sequence[LogDirectory]) -> None:
    """Compare each root with what the others have kept of it. Raises OSError, CorruptMetadataError.

    Only what is of the last stop counts. A root with another id is another disk, and has lost nothing.
    """
    last = max((root.broker_epoch for root in roots), default=UNKNOWN_BROKER_EPOCH)
    for told in (root.other_roots for root in roots):
        if told is None or told.broker_epoch != last:
            continue
        for root in roots:
            claims = told.claims.get(root.directory_id or "", {})
            if claims:
                root.hear(_not_moved(claims, root, roots))
    for root in roots:
        root.forget_others()  # what is short of it is kept by now, until it is settled


def _not_moved(
    claims: Mapping[TopicPartition, Claims], root: LogDirectory, roots: Iterable[LogDirectory]
) -> dict[TopicPartition, Claims]:
    """Return what is said of logs that no other root has by now."""
    elsewhere = {partition for each in roots if each is not root for partition in (*each.partitions, *each.unreadable)}
    return {partition: claimed for partition, claimed in claims.items() if partition not in elsewhere}
