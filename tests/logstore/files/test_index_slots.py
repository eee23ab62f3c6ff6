"""How many slots of an index are entries."""

import pytest

from logstore.files.index_slots import TIME_SLOT, used_slots, used_time_slots

MANY = 1 << 16


@pytest.mark.parametrize("zeros", [0, 1, MANY - 1, MANY, MANY + 1, 3 * MANY])
@pytest.mark.parametrize("entries", [0, 1, 2, MANY, MANY + 3])
@pytest.mark.parametrize("odd", [0, TIME_SLOT - 1])
def test_entries_end_at_the_last_slot_that_is_not_all_zeros(entries: int, zeros: int, odd: int) -> None:
    used = bytes((entries - 1) * TIME_SLOT + TIME_SLOT // 2) + b"\1" + bytes(TIME_SLOT // 2 - 1) if entries else b""
    slots = used + bytes(zeros * TIME_SLOT) + b"\1" * odd
    assert used_slots(slots, TIME_SLOT, None) == used
    assert used_slots(memoryview(slots), TIME_SLOT, None) == used


@pytest.mark.parametrize(("slots", "entries"), [(0, 0), (1, 1), (2, 0)])
def test_a_time_index_of_one_slot_has_an_entry_whatever_it_says(slots: int, entries: int) -> None:
    assert used_time_slots(bytes(slots * TIME_SLOT), None) == bytes(entries * TIME_SLOT)
