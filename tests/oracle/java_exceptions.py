"""Errors as Java clients print them, by the exception's class, and how ours does (Kafka: Errors)."""

import re
from collections.abc import Mapping
from typing import Final

from replication.wire.error_code import ErrorCode

_PACKAGE: Final = "org.apache.kafka.common.errors."
_IRREGULAR: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.MESSAGE_TOO_LARGE: "RecordTooLargeException",
    ErrorCode.STALE_CONTROLLER_EPOCH: "ControllerMovedException",
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "OffsetMetadataTooLarge",
    ErrorCode.NETWORK_EXCEPTION: "NetworkException",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "InvalidTopicException",
    ErrorCode.RECORD_LIST_TOO_LARGE: "RecordBatchTooLargeException",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationException",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: "DuplicateSequenceException",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMappingException",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeoutException",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    ErrorCode.SASL_AUTHENTICATION_FAILED: "SaslAuthenticationException",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "DelegationTokenDisabledException",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "UnsupportedByAuthenticationException",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "DelegationTokenAuthorizationException",
    ErrorCode.NON_EMPTY_GROUP: "GroupNotEmptyException",
    ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE: "PrincipalDeserializationException",
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: "FetchSessionTopicIdException",
    ErrorCode.INVALID_REGULAR_EXPRESSION: "InvalidRegularExpression",
}
_ELSEWHERE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INVALID_RECORD: "org.apache.kafka.common.InvalidRecordException",
}


def error_name(exception: str) -> str:
    """Return the name of the error that a Java client's exception stands for: each stands for one."""
    return _NAMES[exception]


def _class_name(code: ErrorCode) -> str:
    words = code.name.split("_")
    regular = "".join(map(str.capitalize, words)) + "Exception"
    return _ELSEWHERE.get(code) or _PACKAGE + _IRREGULAR.get(code, regular)


_NAMES: Final = {_class_name(code): code.name for code in ErrorCode}
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
