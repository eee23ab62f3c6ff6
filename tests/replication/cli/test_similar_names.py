"""Which name a mistyped one was meant to be: never where it is another of Kafka's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cli.joining_properties import misspelt
from replication.cli.similar_names import similar_names

KNOWN = ("log.dirs", "log.retention.hours", "min.insync.replicas", "metrics.listener")


@given(st.sampled_from([name for name in KNOWN if len(name) > 10]), st.data())
def test_a_letter_too_few_is_seen(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    assert similar_names([name[:at] + name[at + 1 :]], KNOWN) == {name[:at] + name[at + 1 :]: name}


@pytest.mark.parametrize(
    "name",
    ["log.cleaner.threads", "num.network.threads", "log.flush.start.offset.checkpoint.interval.ms", "log.dir"],
)
def test_other_properties_of_kafkas_are_no_misspellings(name: str) -> None:
    assert misspelt([name]) == {}


def test_what_is_given_too_is_not_meant() -> None:
    assert misspelt(["metrics.listner", "metrics.listener"]) == {}
