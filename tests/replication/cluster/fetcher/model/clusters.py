"""The clusters that are checked, each with one thing right or wrong."""

from dataclasses import replace

from epoch import TruncationProtocol
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from tests.replication.cluster.fetcher.model.variant import Variant
from tests.replication.cluster.fetcher.model.violations import DIVERGENCE, LOSS

_ASKS_ONCE = FetchRules(TruncationProtocol.KIP_101, truncate_on_fetch=False, back_off_ms=0)
_ASKS_NOBODY = FetchRules(TruncationProtocol.HIGH_WATERMARK, truncate_on_fetch=False, back_off_ms=0)
_ASKS_IN_ROUNDS = FetchRules(truncate_on_fetch=False, back_off_ms=0)
_FETCHES = FetchRules(back_off_ms=0)

HIGH_WATERMARK = Variant("by the high watermark", _ASKS_NOBODY, fences=False, forgets_high_watermarks=False)
"""Kafka before 0.11."""

HIGH_WATERMARK_FORK = Variant(
    "by the high watermark, losses aside",
    _ASKS_NOBODY,
    fences=False,
    forgets_high_watermarks=False,
    without=frozenset({LOSS}),
)

KIP_101_FORK = Variant(
    "one question, unclean elections",
    _ASKS_ONCE,
    fences=False,
    elects_uncleanly=True,
    without=frozenset({LOSS}),
)
"""Kafka 0.11 to 1.1."""

ROUNDS = Variant("questions in rounds", _ASKS_IN_ROUNDS)
"""Kafka 2.0 to 2.6, and mirrors."""

ROUNDS_UNCLEAN = Variant(
    "questions in rounds, unclean elections",
    _ASKS_IN_ROUNDS,
    elects_uncleanly=True,
    without=frozenset({LOSS}),
)

ROUNDS_UNFENCED = replace(ROUNDS_UNCLEAN, name="questions in rounds, without fencing", fences=False, hears_late=True)
"""KIP-279 without KIP-320."""

ON_FETCH = Variant("on fetch", _FETCHES)
"""Kafka since 2.7."""

ON_FETCH_UNCLEAN = Variant("on fetch, unclean elections", _FETCHES, elects_uncleanly=True, without=frozenset({LOSS}))

NEW_INCARNATIONS = Variant(
    "on fetch, lost tails, new incarnations", _FETCHES, loses_tails=True, registers=True, min_isr=2
)
"""Kafka since 4.0: KIP-903, KIP-966. A leader that lacks what was acknowledged is elected only where no member of ISR
and ELR is left, each having crashed; any other such election is a loss."""

OLD_EPOCH_REUSED = Variant(
    "on fetch, lost tails, the old epoch led on", _FETCHES, loses_tails=True, without=frozenset({LOSS, DIVERGENCE})
)
"""A leader that goes on where a crash left it, without registering anew."""
