"""Bytes as kernels take them."""

import numpy as np
from numpy.typing import NDArray

LINE = 64
"""Bytes that the memory gives at once."""


def read_only(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """View the bytes as read-only, so that each kernel is compiled for one type of array only."""
    view = np.ascontiguousarray(data).view()
    view.flags.writeable = False
    return view
