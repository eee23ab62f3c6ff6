"""Who may log in by the metadata, and whom others know."""

import pytest

from replication.cluster.node.listeners import MetadataUsers, with_metadata_users
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.security.no_users import NoUsers
from replication.wire.server.security.scram_credential import DEFAULT_SHAPE, ScramCredential
from replication.wire.server.security.users import Users

NUMBERS = {"sha256": 1, "sha512": 2}


class OneUser(Users):
    """Knows bob, by any mechanism."""

    def credential(self, name: str, digest: str | None) -> ScramCredential:
        if name != "bob":
            return NoUsers().credential(name, digest)
        return ScramCredential.of("elsewhere", digest or "sha256", b"salt")


def record(name: str, password: str, digest: str) -> UserScramCredentialRecord:
    made = ScramCredential.of(password, digest, b"salt of ours", 8_192)
    return UserScramCredentialRecord(
        name=name,
        mechanism=NUMBERS[digest],
        salt=made.salt,
        stored_key=made.stored_key,
        server_key=made.server_key,
        iterations=made.iterations,
    )


@pytest.mark.parametrize("digest", NUMBERS)
def test_a_user_is_known_from_its_record_on_to_the_record_of_its_end(digest: str) -> None:
    image = ClusterImage()
    users = MetadataUsers(lambda: image, NoUsers())
    assert not users.credential("alice", digest).fits("secret")
    image.replay_all([record("alice", "secret", digest)])
    assert users.credential("alice", digest) == ScramCredential.of("secret", digest, b"salt of ours", 8_192)
    (other,) = NUMBERS.keys() - {digest}
    assert not users.credential("alice", other).fits("secret")
    image.replay_all([record("alice", "changed", digest)])
    assert users.credential("alice", digest).fits("changed")
    image.replay_all([RemoveUserScramCredentialRecord(name="alice", mechanism=NUMBERS[digest])])
    assert not users.credential("alice", digest).fits("changed")


def test_others_are_asked_for_whom_the_metadata_does_not_have_and_for_plain() -> None:
    image = ClusterImage()
    users = MetadataUsers(lambda: image, OneUser())
    assert users.credential("bob", "sha256").fits("elsewhere")
    image.replay_all([record("bob", "in the metadata", "sha256")])
    assert users.credential("bob", "sha256").fits("in the metadata")
    assert not users.credential("bob", "sha512").fits("elsewhere"), "what was replaced is good by no mechanism"
    assert users.credential("bob", None).fits("elsewhere")


def test_nobody_has_the_same_salt_at_each_login_and_no_password() -> None:
    nobody = NoUsers()
    first, second = nobody.credential("eve", "sha512"), nobody.credential("eve", "sha512")
    assert first.salt == second.salt != nobody.credential("mallory", "sha512").salt
    assert first.stored_key != second.stored_key


def test_whoever_is_not_known_is_asked_as_somebody_is_who_is() -> None:
    image = ClusterImage()
    image.replay_all([record("alice", "secret", "sha256")])
    users = MetadataUsers(lambda: image, NoUsers())
    known = users.credential("alice", "sha256")
    names = ["eve", "mallory", "trent"]
    assert {users.credential(name, "sha256").shape for name in names} == {known.shape}
    assert len({users.credential(name, "sha256").salt for name in names * 2}) == len(names)
    # Who is known by another mechanism alone is asked for what nobody has, as all are.
    assert {users.credential(name, "sha512").shape for name in [*names, "alice"]} == {DEFAULT_SHAPE}


def test_a_listener_without_logins_stays_as_it_is() -> None:
    listener = ListenerSettings(address=Address("127.0.0.1", 0))
    assert with_metadata_users(listener, ClusterImage) is listener


def test_keys_are_not_printed() -> None:
    told = record("alice", "secret", "sha512")
    for each in (told, MetadataUsers(ClusterImage, NoUsers()).credential("alice", "sha512")):
        for secret in (told.salt, told.stored_key, told.server_key):
            assert repr(secret) not in repr(each)
    assert "salt" not in repr(told)
