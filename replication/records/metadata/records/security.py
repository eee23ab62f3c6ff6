"""Records of who may do what, and of how they prove who they are."""

from dataclasses import dataclass, field
from typing import ClassVar

from replication.records.codec.fields import Bytes, Int8, Int32, Int64, String, Strings, Uuid
from replication.records.metadata.records.record import MetadataRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessControlEntryRecord(MetadataRecord):
    """A principal is allowed or denied an operation."""

    API_KEY: ClassVar[int] = 18

    id: Uuid
    resource_type: Int8
    resource_name: String
    pattern_type: Int8
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAccessControlEntryRecord(MetadataRecord):
    """The entry of this id is gone."""

    API_KEY: ClassVar[int] = 19

    id: Uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScramCredentialRecord(MetadataRecord):
    """How a user proves by SCRAM that he knows his password (KIP-900)."""

    API_KEY: ClassVar[int] = 11

    name: String
    mechanism: Int8
    """1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""
    salt: Bytes = field(repr=False)
    stored_key: Bytes = field(repr=False)
    server_key: Bytes = field(repr=False)
    iterations: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUserScramCredentialRecord(MetadataRecord):
    """A user has no credential of this mechanism any more."""

    API_KEY: ClassVar[int] = 22

    name: String
    mechanism: Int8


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationTokenRecord(MetadataRecord):
    """A delegation token is valid. Times are milliseconds since 1970 UTC."""

    API_KEY: ClassVar[int] = 10

    owner: String
    requester: String
    renewers: Strings = ()
    issue_timestamp: Int64
    max_timestamp: Int64
    expiration_timestamp: Int64
    token_id: String


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDelegationTokenRecord(MetadataRecord):
    """A delegation token is void."""

    API_KEY: ClassVar[int] = 26

    token_id: String
