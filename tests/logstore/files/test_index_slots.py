"""How many slots of an index are entries."""

import numpy as np
import pytest

from logstore.files.index_slots import count_entries

SLOT = np.dtype([("timestamp", ">i8"), ("relative_offset", ">i4")])
CHUNK = 1 << 16


@pytest.mark.parametrize("zeros", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
@pytest.mark.parametrize("entries", [0, 1, 2, CHUNK, CHUNK + 3])
def test_entries_end_at_the_last_slot_that_is_not_all_zeros(entries: int, zeros: int) -> None:
    slots = np.zeros(entries + zeros, SLOT)
    if entries:
        slots["relative_offset"][entries - 1] = 1
    assert count_entries(slots) == entries
