"""What a dump shows of the records of `__cluster_metadata` and of the control records beside them."""

from logstore.batch.record import Record
from replication.cli.dumping.printer import Fields
from replication.records.metadata.control_messages import decode_control
from replication.records.metadata.description import describe
from replication.records.metadata.errors import UnknownMetadataRecordError
from replication.records.metadata.framing import decode, read_frame


def metadata_fields(record: Record) -> Fields:
    """Give the fields of a metadata record; of one that a later Kafka has brought its value as it is.

    Raises InvalidMetadataRecordError.
    """
    value = record.value or b""
    fields: dict[str, object] = {"offset": record.offset, "timestamp": record.timestamp}
    try:
        api_key, version, _ = read_frame(value)
        fields |= {"api_key": api_key, "version": version}
        metadata = decode(value)
    except UnknownMetadataRecordError:
        return {**fields, "value": value}
    return {**fields, "type": metadata.type_name(), **describe(metadata, version)}


def control_message_fields(record: Record) -> Fields | None:
    """Give the fields of a control record that stands in metadata logs; None for all others.

    Raises InvalidMetadataRecordError.
    """
    message = decode_control(record)
    return None if message is None else describe(message, message.version)
