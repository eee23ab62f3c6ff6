"""Errors as Java clients print them, by the exception's class, and how ours does (Kafka: Errors)."""

import re
from collections.abc import Mapping
from typing import Final

from kio.schema.errors import ErrorCode

_PACKAGE: Final = "org.apache.kafka.common.errors."
_IRREGULAR: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.unknown_server_error: "UnknownServerException",
    ErrorCode.corrupt_message: "CorruptRecordException",
    ErrorCode.request_timed_out: "TimeoutException",
    ErrorCode.message_too_large: "RecordTooLargeException",
    ErrorCode.stale_controller_epoch: "ControllerMovedException",
    ErrorCode.offset_metadata_too_large: "OffsetMetadataTooLarge",
    ErrorCode.network_exception: "NetworkException",
    ErrorCode.invalid_topic_exception: "InvalidTopicException",
    ErrorCode.record_list_too_large: "RecordBatchTooLargeException",
    ErrorCode.topic_authorization_failed: "TopicAuthorizationException",
    ErrorCode.group_authorization_failed: "GroupAuthorizationException",
    ErrorCode.cluster_authorization_failed: "ClusterAuthorizationException",
    ErrorCode.topic_already_exists: "TopicExistsException",
    ErrorCode.invalid_config: "InvalidConfigurationException",
    ErrorCode.out_of_order_sequence_number: "OutOfOrderSequenceException",
    ErrorCode.duplicate_sequence_number: "DuplicateSequenceException",
    ErrorCode.invalid_producer_id_mapping: "InvalidPidMappingException",
    ErrorCode.invalid_transaction_timeout: "InvalidTxnTimeoutException",
    ErrorCode.transactional_id_authorization_failed: "TransactionalIdAuthorizationException",
    ErrorCode.kafka_storage_error: "KafkaStorageException",
    ErrorCode.sasl_authentication_failed: "SaslAuthenticationException",
    ErrorCode.delegation_token_auth_disabled: "DelegationTokenDisabledException",
    ErrorCode.delegation_token_request_not_allowed: "UnsupportedByAuthenticationException",
    ErrorCode.delegation_token_authorization_failed: "DelegationTokenAuthorizationException",
    ErrorCode.non_empty_group: "GroupNotEmptyException",
    ErrorCode.principal_deserialization_failure: "PrincipalDeserializationException",
    ErrorCode.fetch_session_topic_id_error: "FetchSessionTopicIdException",
    ErrorCode.invalid_regular_expression: "InvalidRegularExpression",
}
_ELSEWHERE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.invalid_record: "org.apache.kafka.common.InvalidRecordException",
}


def error_name(exception: str) -> str:
    """Return the name of the error that a Java client's exception stands for: each stands for one."""
    return _NAMES[exception]


def _class_name(code: ErrorCode) -> str:
    words = code.name.split("_")
    regular = "".join(map(str.capitalize, words)) + "Exception"
    return _ELSEWHERE.get(code) or _PACKAGE + _IRREGULAR.get(code, regular)


_NAMES: Final = {_class_name(code): code.name.upper() for code in ErrorCode}
_WRAPPERS: Final = (
    "java.util.concurrent.ExecutionException: ",
    "java.io.IOException: ",
    "com.fasterxml.jackson.databind.JsonMappingException: ",
)
"""What stands before a message, and says nothing that it does not."""
_EXCEPTION: Final = re.compile(r"\borg\.apache\.kafka\.common(\.errors)?\.[A-Z]\w+")
_CLIENT: Final = "Failed to create new KafkaAdminClient"


def as_ours(printed: str) -> str:
    """Return what Kafka's tool prints as ours does, which names no Java classes: word for word the same otherwise."""
    for wrapper in _WRAPPERS:
        printed = re.sub(rf"^{re.escape(wrapper)}", "", printed, flags=re.MULTILINE)
    printed = re.sub(rf"^{_CLIENT}$", "Failed to create an admin client", printed, flags=re.MULTILINE)
    return _EXCEPTION.sub(lambda match: error_name(match[0]), printed)
