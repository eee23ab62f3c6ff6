"""The model finds faults: each of these, put into the follower or its surroundings, is found."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from epoch import TruncateTo
from replication.cluster.fetcher.decisions import fetch_state_machine as following
from tests.replication.cluster.fetcher.model import clusters, leader, model
from tests.replication.cluster.fetcher.model.checker import check
from tests.replication.cluster.fetcher.model.trace import rendered
from tests.replication.cluster.fetcher.model.variant import Variant
from tests.replication.cluster.fetcher.model.violations import DIVERGENCE, LOSS, STUCK

ON_FETCH = clusters.ON_FETCH_UNCLEAN.bounded(epochs=3, records=2, restarts=0)
ROUNDS = clusters.ROUNDS_UNCLEAN.bounded(epochs=3, records=2, restarts=0)
CRASHING = clusters.NEW_INCARNATIONS.bounded(epochs=2, records=1, restarts=1)
CLEAN = clusters.ON_FETCH.bounded(epochs=3, records=2, restarts=0)

_truncate = following._truncate
_follow = following.follow
_after_append = following.after_append


def to_the_leaders_end(answer: Any, history: Any, log_end_offset: int, high_watermark: int, **_: Any) -> TruncateTo:  # noqa: ARG001
    return TruncateTo(min(answer.end_offset, log_end_offset), complete=True)


def no_divergence(*_: Any) -> None:
    return None


def to_the_own_end(answer: Any, history: Any, log_end_offset: int, high_watermark: int, **_: Any) -> TruncateTo:  # noqa: ARG001
    own = history.end_offset_for(answer.epoch, log_end_offset)
    return TruncateTo(own.end_offset if own.end_offset >= 0 else log_end_offset, complete=True)


def to_the_high_watermark(answer: Any, history: Any, log_end_offset: int, high_watermark: int, **_: Any) -> TruncateTo:  # noqa: ARG001
    return TruncateTo(min(high_watermark, log_end_offset), complete=True)


def always_complete(*arguments: Any, complete: bool) -> Any:  # noqa: ARG001
    return _truncate(*arguments, complete=True)


def without_truncation(rules: Any, leader_epoch: int, log: Any, current: Any = None) -> Any:
    return replace(_follow(rules, leader_epoch, log, current), phase=following.Phase.FETCHING)


def without_last_fetched_epoch(rules: Any, leader_epoch: int, log: Any, current: Any = None) -> Any:
    return replace(_follow(rules, leader_epoch, log, current), last_fetched_epoch=-1)


def with_the_leaders_epoch(rules: Any, leader_epoch: int, log: Any, current: Any = None) -> Any:
    state = _follow(rules, leader_epoch, log, current)
    return replace(state, last_fetched_epoch=leader_epoch) if state.last_fetched_epoch >= 0 else state


def one_too_far(state: Any, rules: Any, log: Any, answer: Any) -> Any:
    state = _after_append(state, rules, log, answer)
    return replace(state, fetch_offset=state.fetch_offset + 1)


def of_an_older_isr(*_: Any) -> bool:
    """Let leaders change an ISR of which they have not heard."""
    return True


Mutant = tuple[Any, str, Callable[..., Any], Variant, str]
MUTANTS: list[Mutant] = [
    (following, "truncation_for", to_the_leaders_end, ROUNDS, DIVERGENCE),
    (following, "truncation_for", to_the_own_end, ROUNDS, DIVERGENCE),
    (following, "follow", without_truncation, ROUNDS, DIVERGENCE),
    (following, "follow", without_last_fetched_epoch, ON_FETCH, DIVERGENCE),
    (following, "follow", with_the_leaders_epoch, ON_FETCH, DIVERGENCE),
    (following, "after_append", one_too_far, ON_FETCH, STUCK),
    (leader, "diverging_epoch", no_divergence, ON_FETCH, DIVERGENCE),
    (model, "_knows_the_isr", of_an_older_isr, CRASHING, LOSS),
]
LATER: list[Mutant] = [
    (following, "_truncate", always_complete, ROUNDS.bounded(epochs=4, records=2, restarts=0), DIVERGENCE),
    (following, "truncation_for", to_the_high_watermark, CLEAN, LOSS),
]
"""Found only in clusters that take minutes."""
CHOSEN = [*MUTANTS, *LATER] if os.environ.get("CAMPAIGN") == "full" else MUTANTS


@pytest.mark.parametrize(
    ("where", "name", "broken", "variant", "kind"), CHOSEN, ids=[broken.__name__ for _, _, broken, _, _ in CHOSEN]
)
def test_a_fault_is_found(where: Any, name: str, broken: Callable[..., Any], variant: Variant, kind: str) -> None:
    with patch.object(where, name, broken):
        verdict = check(variant)
    assert verdict.violation is not None
    assert verdict.violation.kind == kind, rendered(verdict)
