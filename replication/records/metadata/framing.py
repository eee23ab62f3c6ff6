"""How a metadata record stands in the value of a log's record (Kafka: AbstractApiMessageSerde, MetadataRecordSerde).

Three unsigned varints come first: the version of this framing, which is 1, the record's API key and its version.
"""

from functools import cache
from typing import Final, NamedTuple

from replication.records.codec.codec import codec_of
from replication.records.codec.errors import CODEC_ERRORS, UNFIT_ERRORS
from replication.records.codec.fields import read_uvarint, write_uvarint
from replication.records.codec.read_whole import read_whole
from replication.records.metadata.errors import InvalidMetadataRecordError, UnknownMetadataRecordError
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, record_version
from replication.records.metadata.records import RECORD_TYPES, MetadataRecord

FRAME_VERSION: Final = 1
_MAX_NUMBER: Final = 2**15 - 1
_NEWER_ADVICE: Final = "it was written by a later Kafka; read it with a later epochlog, or with Kafka's own tools"


class Frame(NamedTuple):
    """What stands before a record's fields."""

    api_key: int
    version: int
    position: int
    """Where the fields begin."""


def encode(record: MetadataRecord, metadata_version: int = LATEST_METADATA_VERSION) -> bytes:
    """Return the value that says so, in the version that the cluster's level of `metadata.version` asks for.

    Raises InvalidMetadataRecordError where that version cannot say it, or a field does not fit its type.
    """
    return encode_version(record, record_version(record, metadata_version))


def encode_version(record: MetadataRecord, version: int) -> bytes:
    """As `encode`, in a version of the record's own."""
    kind = type(record)
    out = bytearray(_frame(kind.API_KEY, version))
    try:
        codec_of(kind, version).write(out, record)
    except UNFIT_ERRORS as error:
        raise InvalidMetadataRecordError(
            f"{kind.type_name()} cannot be written in version {version}: {error}",
            advice="its message: " + repr(record),
        ) from error
    return bytes(out)


def decode(value: bytes | None) -> MetadataRecord:
    """Read the value of a log's record.

    Raises UnknownMetadataRecordError for types and versions that are not known, and InvalidMetadataRecordError for
    everything else that cannot be read; their `with_position` adds where it was.
    """
    if value is None:
        raise InvalidMetadataRecordError("a metadata record has no value")
    frame = read_frame(value)
    kind = RECORD_TYPES.get(frame.api_key)
    if kind is None:
        raise UnknownMetadataRecordError(
            f"a metadata record of API key {frame.api_key} in version {frame.version}, of an unknown type",
            advice=_NEWER_ADVICE,
        )
    if frame.version > kind.LATEST_VERSION:
        raise UnknownMetadataRecordError(
            f"{kind.type_name()} (API key {frame.api_key}) in version {frame.version}, of which only 0 to "
            f"{kind.LATEST_VERSION} are known",
            advice=_NEWER_ADVICE,
        )
    return _decode_fields(value, frame, kind)


def read_frame(value: bytes) -> Frame:
    """Read what stands before the fields. Raises InvalidMetadataRecordError, or UnknownMetadataRecordError."""
    try:
        frame_version, position = read_uvarint(value, 0)
        api_key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except CODEC_ERRORS as error:
        raise InvalidMetadataRecordError(
            f"not a metadata record: {error}", advice="the value must begin with a frame version, type and version"
        ) from error
    if frame_version != FRAME_VERSION:
        raise UnknownMetadataRecordError(
            f"a metadata record in frame version {frame_version}, of which only {FRAME_VERSION} is known",
            advice=_NEWER_ADVICE,
        )
    if api_key > _MAX_NUMBER or version > _MAX_NUMBER:
        raise InvalidMetadataRecordError(f"not a metadata record: API key {api_key}, version {version}")
    return Frame(api_key, version, position)


def _decode_fields(value: bytes, frame: Frame, kind: type[MetadataRecord]) -> MetadataRecord:
    try:
        return read_whole(codec_of(kind, frame.version), value, frame.position)
    except CODEC_ERRORS as error:
        raise InvalidMetadataRecordError(
            f"{kind.type_name()} in version {frame.version} cannot be read: {error}"
        ) from error


@cache
def _frame(api_key: int, version: int) -> bytes:
    out = bytearray()
    for number in (FRAME_VERSION, api_key, version):
        write_uvarint(out, number)
    return bytes(out)
