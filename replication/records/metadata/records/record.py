"""What all metadata records have in common."""

from typing import ClassVar


class MetadataRecord:
    """One change of the cluster's metadata. Records are equal where their fields are."""

    __slots__ = ()

    API_KEY: ClassVar[int]
    """The number of its type (Kafka: MetadataRecordType)."""
    LATEST_VERSION: ClassVar[int] = 0
    """All versions from 0 to this one can be read."""

    @classmethod
    def type_name(cls) -> str:
        """Return Kafka's name for the type, such as PARTITION_CHANGE_RECORD."""
        letters = (f"_{letter}" if letter.isupper() else letter for letter in cls.__name__)
        return "".join(letters).lstrip("_").upper()
