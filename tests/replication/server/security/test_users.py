"""Users of a file, while it changes."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from replication.protocol.errors import InvalidSettingsError
from replication.server.security.scram_credential import ScramCredential
from replication.server.security.users import UsersFile

KEPT = {"salt": "c2FsdA==", "stored_key": "A" * 43 + "=", "server_key": "A" * 43 + "=", "iterations": 4096}


def _write(path: Path, users: Any) -> None:
    new = path.with_suffix(".new")
    new.write_text(users if isinstance(users, str) else json.dumps(users))
    new.replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "users.json"
    _write(found, {"alice": {"password": "alice-secret"}})
    return found


def test_a_password_fits_for_every_digest_and_no_other_does(path: Path) -> None:
    users = UsersFile(path)
    for digest in ("sha256", "sha512", None):
        assert users.credential("alice", digest).fits("alice-secret")
        assert not users.credential("alice", digest).fits("Alice-secret")
        assert not users.credential("bob", digest).fits("alice-secret")


def test_what_is_kept_of_a_password_is_enough(path: Path) -> None:
    made = ScramCredential.of("secret", "sha512", b"salt", 8_192)
    kept = {
        "salt": base64.b64encode(made.salt).decode(),
        "stored_key": base64.b64encode(made.stored_key).decode(),
        "server_key": base64.b64encode(made.server_key).decode(),
        "iterations": 8_192,
    }
    _write(path, {"bob": {"SCRAM-SHA-512": kept}})
    users = UsersFile(path)
    assert users.credential("bob", "sha512") == made
    assert users.credential("bob", None).fits("secret")
    assert not users.credential("bob", "sha256").fits("secret")


def test_who_is_not_known_always_has_the_same_salt_and_as_many_iterations(path: Path) -> None:
    users = UsersFile(path)
    known, first, second = (users.credential(name, "sha256") for name in ("alice", "bob", "bob"))
    assert first.salt == second.salt != users.credential("carol", "sha256").salt
    assert (len(first.salt), first.iterations) == (len(known.salt), known.iterations)


def test_a_file_that_changes_is_read_again(path: Path) -> None:
    users = UsersFile(path)
    _write(path, {"bob": {"password": "bob-secret"}})
    assert users.credential("bob", None).fits("bob-secret")
    assert not users.credential("alice", None).fits("alice-secret")


def test_a_file_that_breaks_or_goes_leaves_the_users_as_they_were(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    users = UsersFile(path)
    _write(path, "{")
    for _ in range(2):
        assert users.credential("alice", None).fits("alice-secret")
    assert caplog.text.count("the users stay as they were") == 1
    path.unlink()
    for _ in range(2):
        assert users.credential("alice", None).fits("alice-secret")
    assert caplog.text.count("the users stay as they were") == 2
    _write(path, {"alice": {"password": "new"}})
    assert users.credential("alice", None).fits("new")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("\xff", "not a file of users"),
        ("[]", "the file is no object"),
        ('{"a": "b"}', "what belongs to 'a' is no object"),
        ('{"a": {}}', "'a' has nothing"),
        ('{"a": {"pass": "b"}}', "'a' has .'pass'."),
        ('{"a": {"password": ""}}', "the password of 'a' is no text, or empty"),
        ('{"a": {"password": 1}}', "the password of 'a' is no text, or empty"),
        ('{"a": {"password": "b"}, "a": {"password": "c"}}', "'a' is there twice"),
        (json.dumps({"a": {"SCRAM-SHA-256": {**KEPT, "iterations": 1}}}), "has 1 iterations"),
        (json.dumps({"a": {"SCRAM-SHA-256": {**KEPT, "iterations": True}}}), "has True iterations"),
        (json.dumps({"a": {"SCRAM-SHA-256": {**KEPT, "salt": "!"}}}), "salt of 'a' is not in base64"),
        (json.dumps({"a": {"SCRAM-SHA-512": KEPT}}), "keys that are not of 64 bytes"),
        (json.dumps({"a": {"SCRAM-SHA-256": {"salt": ""}}}), "a credential of 'a' has .'salt'."),
        ("[" * 100_000, "not a file of users"),
    ],
)
def test_what_is_no_file_of_users_is_refused_by_its_fault(path: Path, text: str, reason: str) -> None:
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidSettingsError, match=reason) as error:
        UsersFile(path)
    assert os.fspath(path) in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettingsError, match=r"none\.json: users cannot be read: No such file"):
        UsersFile(tmp_path / "none.json")
