"""Error codes as Java clients print them: the exception's class, and what it says (Kafka: Errors)."""

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
_MESSAGES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.unknown_server_error: "The server experienced an unexpected error when processing the request.",
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.leader_not_available: (
        "There is no leader for this topic-partition as we are in the middle of a leadership election."
    ),
    ErrorCode.request_timed_out: "The request timed out.",
    ErrorCode.cluster_authorization_failed: "Cluster authorization failed.",
    ErrorCode.not_controller: "This is not the correct controller for this cluster.",
    ErrorCode.preferred_leader_not_available: "The preferred leader was not available.",
    ErrorCode.eligible_leaders_not_available: "Eligible topic partition leaders are not available.",
}
"""What the errors that elections end with say where the broker adds nothing."""


def java_exception(code: ErrorCode, message: str | None = None) -> str:
    """Return an error as Java's `Throwable.toString` gives it, with the broker's message or the usual one."""
    told = _MESSAGES.get(code) if message is None else message
    return _class_name(code) if told is None else f"{_class_name(code)}: {told}"


def _class_name(code: ErrorCode) -> str:
    words = code.name.split("_")
    regular = "".join(map(str.capitalize, words)) + "Exception"
    return _ELSEWHERE.get(code) or _PACKAGE + _IRREGULAR.get(code, regular)
