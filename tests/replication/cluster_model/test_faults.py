"""The model finds faults: each of these, put into the leader or into the controller, is found."""

from dataclasses import replace

import pytest

from replication.cluster.broker.partitions.led_partition import LedPartition
from tests.replication.cluster_model import faults, scopes
from tests.replication.cluster_model.checker import check
from tests.replication.cluster_model.scope import Scope
from tests.replication.cluster_model.trace import rendered
from tests.replication.cluster_model.violations import EPOCH, HIGH_WATERMARK, ISR, LOSS

FALLING = replace(scopes.ELR, stops=False)
REPEATING = replace(scopes.ELR_OF_ONE, repeats_answers=True, stops=False)
THREE = replace(scopes.THREE, loses_tails=False, min_isr=1)


@pytest.mark.parametrize(
    ("led", "scope", "kind"),
    [
        (faults.CommitsForAnybody, THREE.bounded(records=1, failures=0, changes=1), HIGH_WATERMARK),
        (faults.CommitsWithoutTheJoining, REPEATING.bounded(records=1, failures=0, changes=2), HIGH_WATERMARK),
        (faults.BeginsLate, FALLING.bounded(records=1, failures=1, changes=1), EPOCH),
        (faults.TakesAnswersTwice, REPEATING.bounded(records=1, failures=0, changes=2), ISR),
        (faults.ForgetsChanges, FALLING.bounded(records=1, failures=0, changes=2), ISR),
        (
            faults.TakesInBeforeTheEpoch,
            replace(FALLING, fetches_late=False).bounded(records=1, failures=2, changes=3),
            LOSS,
        ),
        (faults.TrustsFormerLives, FALLING.bounded(records=1, failures=1, changes=2), HIGH_WATERMARK),
    ],
)
def test_a_fault_of_a_leader_is_found(led: type[LedPartition], scope: Scope, kind: str) -> None:
    verdict = check(replace(scope, led=led))
    assert verdict.violation is not None
    assert verdict.violation.kind == kind, rendered(verdict.trace, verdict.violation)


def test_a_previous_broker_epoch_that_is_trusted_after_a_crash_is_found() -> None:
    with faults.trusts_any_broker_epoch():
        verdict = check(replace(FALLING, fetches_late=False).bounded(records=1, failures=2, changes=3))
    assert verdict.violation is not None
    assert verdict.violation.kind == LOSS, rendered(verdict.trace, verdict.violation)
