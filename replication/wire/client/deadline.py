"""Until when something may take."""

import time


class Deadline:
    """A time to come, `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left; 0 once it has passed."""
        return max(0.0, self._end - time.monotonic())
