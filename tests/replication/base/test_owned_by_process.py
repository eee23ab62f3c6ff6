import pytest

from epoch.errors import InheritedError
from replication.base.owned_by_process import OwnedByProcess
from tests.interruption import exit_status_of


class Owned(OwnedByProcess):
    def _described(self) -> str:
        return "this one"


def test_a_forked_process_is_refused_and_the_one_that_made_it_is_not() -> None:
    owned = Owned()
    assert exit_status_of(owned._ensure_own, refused=InheritedError, seconds=20) == 7
    owned._ensure_own()


def test_what_is_detached_is_refused_from_then_on() -> None:
    owned = Owned()
    owned.detach()
    with pytest.raises(
        InheritedError,
        match="this one belongs to the process that forked this one: use it there, or open another one after the fork",
    ):
        owned._ensure_own()
