"""Names of a door: loaded on first use, and for one version under the names that they had."""

import pytest

import replication.salvage
from replication.base.lazy_names import lazy_names


def test_a_name_loads_its_module_on_first_use() -> None:
    load = lazy_names("replication.salvage", {"DamagedCopy": "copies.salvage.sound_copy"})
    assert load("DamagedCopy") is replication.salvage.DamagedCopy


def test_a_renamed_name_loads_what_has_the_new_one_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"salvage\.Damage has been renamed: use .*\.DamagedCopy;"):
        assert replication.salvage.Damage is replication.salvage.DamagedCopy


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match=r"salvage' has no attribute 'Damages'"):
        replication.salvage.Damages  # noqa: B018  the look-up is what is tested
