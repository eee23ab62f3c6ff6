"""How brokers of a simulated cluster hear what its controller has decided."""

from typing import NamedTuple


class MetadataPoll(NamedTuple):
    """Asks for all beyond an offset, as MetadataNews; answered once there is something, or after a while."""

    applied_offset: int
