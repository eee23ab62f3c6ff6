"""Examples worked out by hand from documents that describe the systems."""

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from epoch import EndOffset, EpochEntry, LeaderEpochFileCache
from tests.replication.cluster.controller.case import Case, Cases, Document, only
from tests.replication.cluster.controller.cases import classic_examples, classic_topic_examples


def cases(document: Document) -> Cases:
    only(document, "source", "cases")
    for case in document["cases"]:
        only(case, "id", "kind", "seed", "why", "derivation", "input", "expected")
        yield Case(case["id"], partial(KINDS[case["kind"]], case["input"], case["expected"]))


def check_end_offset(given: Document, expected: Document) -> None:
    only(given, "entries", "requested_epoch", "log_end_offset")
    answer = history(given).end_offset_for(given["requested_epoch"], given["log_end_offset"])
    assert answer == EndOffset(expected["epoch"], expected["end_offset"])


def check_assign(given: Document, expected: Document) -> None:
    only(given, "entries", "assign")
    cache = history(given)
    if "error" in expected:
        with pytest.raises(ValueError, match="epoch"):
            cache.assign(*given["assign"])
        return
    cache.assign(*given["assign"])
    assert [tuple(entry) for entry in cache.entries] == [tuple(entry) for entry in expected["entries"]]


def history(given: Document) -> LeaderEpochFileCache:
    cache = LeaderEpochFileCache()
    for entry in given["entries"]:
        cache.assign(*EpochEntry(*entry))
    return cache


KINDS: Mapping[str, Callable[[Document, Document], None]] = {
    "leader_epoch_end_offset": check_end_offset,
    "leader_epoch_assign": check_assign,
    "zk_broker_failure": classic_examples.check_failure,
    "zk_broker_set_diff": classic_examples.check_set_diff,
    "zk_broker_startup": classic_examples.check_startup,
    "zk_controlled_shutdown": classic_examples.check_controlled_shutdown,
    "zk_controller_failover": classic_examples.check_failover,
    "zk_controller_fencing": classic_examples.check_fencing,
    "zk_elect_request": classic_examples.check_elect_request,
    "zk_imbalance_check": classic_examples.check_imbalance,
    "zk_isr_change_notification": classic_examples.check_isr_change,
    "zk_reassignment_crash": classic_examples.check_crash,
    "zk_reassignment_wait": classic_examples.check_wait,
    "zk_reassignment_walk": classic_examples.check_walk,
    "zk_topic_creation": classic_topic_examples.check_creation,
    "zk_topic_deletion": classic_topic_examples.check_deletion,
}
