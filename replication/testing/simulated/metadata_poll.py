"""How brokers of a simulated cluster hear what its controller has decided."""

from typing import NamedTuple

from replication.metadata.image import ClusterImage
from replication.metadata.image_changes import ImageChanges


class MetadataPoll(NamedTuple):
    """Asks for all beyond an offset; answered once there is something, or after a while."""

    applied_offset: int


class MetadataAnswer(NamedTuple):
    """An image, and what is other than in the one at the offset that was asked for."""

    image: ClusterImage
    changes: ImageChanges
    applied_offset: int
