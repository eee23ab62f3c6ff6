"""Who asks, as requests tell it."""

from typing import Final

CONSUMER: Final = -1
"""Instead of a broker's id: no replica, so what it may read ends at the high watermark."""
