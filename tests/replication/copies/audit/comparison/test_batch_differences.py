"""Each number once, as numpy has it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replication.copies.audit.comparison.batch_differences import distinct


@given(st.lists(st.integers(0, 40) | st.integers(0, 2**62)))
def test_it_is_what_numpy_finds(numbers: list[int]) -> None:
    given = np.array(numbers, np.int64)
    assert distinct(given).tolist() == np.unique(given).tolist()
