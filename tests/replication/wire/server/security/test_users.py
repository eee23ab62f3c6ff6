"""Users of a file, while it changes."""

import base64
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from replication.wire.errors import InvalidSettingsError
from replication.wire.server.security import users as users_module
from replication.wire.server.security.scram_credential import ScramCredential
from replication.wire.server.security.users import UsersFile

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


def test_who_is_not_known_is_asked_as_some_of_those_are_who_are(path: Path) -> None:
    salt = base64.b64encode(bytes(25)).decode()
    others = {"SCRAM-SHA-256": {**KEPT, "salt": salt, "iterations": 10_000}}
    _write(path, {"alice": {"password": "secret"}, "bob": {"SCRAM-SHA-256": KEPT}, "carol": others})
    users = UsersFile(path)
    known = {users.credential(name, "sha256").shape for name in ("alice", "bob", "carol")}
    unknown = [users.credential(f"nobody {number}", "sha256") for number in range(50)]
    assert {each.shape for each in unknown} == known
    assert {len(each.salt) for each in unknown} == {each.salt_bytes for each in known}
    assert users.credential("nobody 7", "sha256").salt == unknown[7].salt


def test_a_file_that_changes_is_read_again(path: Path) -> None:
    users = UsersFile(path)
    _write(path, {"bob": {"password": "bob-secret"}})
    assert users.credential("bob", None).fits("bob-secret")
    assert not users.credential("alice", None).fits("alice-secret")


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The digests for which something has been derived of a password, which takes milliseconds each time."""
    made: list[str] = []
    derive = hashlib.pbkdf2_hmac
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", lambda digest, *more: made.append(digest) or derive(digest, *more))
    return made


def test_reading_a_thousand_passwords_derives_nothing_of_them(path: Path, derivations: list[str]) -> None:
    users = UsersFile(path)
    _write(path, {f"user-{number}": {"password": "secret"} for number in range(1_000)})
    users.credential("user-7", "sha512")
    assert derivations == ["sha512"]


@pytest.mark.parametrize("digest", ["sha256", "sha512", None])
def test_as_much_is_derived_for_whoever_asks(path: Path, digest: str | None, derivations: list[str]) -> None:
    _write(path, {"alice": {"password": "secret"}, "bob": {"SCRAM-SHA-256": KEPT}})
    users = UsersFile(path)
    counts = []
    for name in ("alice", "bob", "carol", "alice"):
        users.credential(name, digest)
        counts.append(len(derivations))
    assert counts == [1, 2, 3, 4]


def test_a_password_counts_for_plain_where_something_is_kept_too(path: Path) -> None:
    _write(path, {"alice": {"password": "secret", "SCRAM-SHA-256": KEPT}})
    assert UsersFile(path).credential("alice", None).fits("secret")


def test_while_one_login_reads_the_file_others_go_by_what_was_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = UsersFile(path)
    reading, may_end = Event(), Event()
    read = users_module._read

    def slowly(path: Path) -> Any:
        reading.set()
        assert may_end.wait(60)
        return read(path)

    monkeypatch.setattr(users_module, "_read", slowly)
    _write(path, {"bob": {"password": "bob-secret"}})
    with ThreadPoolExecutor() as threads:
        first = threads.submit(users.credential, "bob", None)
        assert reading.wait(60)
        assert users.credential("alice", None).fits("alice-secret")
        may_end.set()
        assert first.result().fits("bob-secret")


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
        (r'{"a": {"password": "\ud800"}}', "surrogates not allowed"),
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
