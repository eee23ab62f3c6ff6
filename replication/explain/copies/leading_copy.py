"""Which copy's log is explained, and which one has the most."""

from collections.abc import Mapping

from logstore.offline.recovered_log import RecoveredLog, checkpointed_history

_Standing = tuple[int, int, bool, int, str]


def led_last(logs: Mapping[str, RecoveredLog]) -> str:
    """Return the copy that led last: of the latest epoch, also one under which it wrote nothing, then as below.

    A leader notes its epoch before it writes, and what the others have beyond its log then is cut off. Kafka drops an
    epoch that begins at the log's end when it loads the log: it is known by the checkpoint alone.
    """

    def standing(name: str) -> _Standing:
        noted = checkpointed_history(logs[name].partition).latest_epoch
        return _standing(name, logs[name], -1 if noted is None else noted)

    return min(logs, key=standing)


def latest_and_longest(logs: Mapping[str, RecoveredLog]) -> str:
    """Return the copy that `audit` and `advise` name so: of the latest epoch that its records have.

    Of several the longest, then one without damage, then the one that starts earliest, then the first by name.
    """
    return min(logs, key=lambda name: _standing(name, logs[name], -1))


def _standing(name: str, log: RecoveredLog, noted: int) -> _Standing:
    known = log.lineage().latest_epoch
    epoch = max(noted, -1 if known is None else known)
    return -epoch, -log.log_end_offset, log.damage is not None, log.log_start_offset, name
