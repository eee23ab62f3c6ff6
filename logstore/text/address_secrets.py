"""Secrets in addresses, as in `s3://KEY:SECRET@bucket`: remembered where an address is taken in, shown by nobody."""

import re
from typing import Final
from urllib.parse import quote, unquote

HIDDEN: Final = "***"
"""What is shown in a secret's place."""
_CREDENTIALS: Final = re.compile(r":/{1,3}(?P<both>(?P<user>[^/@\s:]*):(?P<password>[^@\s]+))@")
_OPTION: Final = re.compile(r"[?&](?P<name>[^=&\s]+)=(?P<value>[^&\s]+)")
_SECRET_NAME: Final = re.compile("key|secret|token|pass|sig", re.IGNORECASE)
_LEAST: Final = 4
"""Characters of a secret that is hidden wherever it stands; a shorter one would take half of any text with it."""
_LEAST_OF_USER: Final = 16
"""Characters of a user that must be an access key, and no word."""
_hidden: list[str] = []
"""The longest first: it may have another in it."""


def take_in(address: str) -> None:
    """Remember what is secret in an address, or in an argument that may be one: nobody will be shown it.

    Call it before anything is done with the address that may fail.
    """
    if "@" not in address and "=" not in address:
        return
    for found in _CREDENTIALS.finditer(address):
        _hide(found["both"], _LEAST)
        _hide(found["password"], _LEAST)
        _hide(found["user"], _LEAST_OF_USER)
    for option in _OPTION.finditer(address):
        if _SECRET_NAME.search(option["name"]):
            _hide(option["value"], _LEAST)


def redacted(text: str) -> str:
    """Return a text without the secrets of any address that was taken in by this process.

    >>> take_in("s3://AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI@bucket")
    >>> redacted("cannot parse s3://AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI@bucket")
    'cannot parse s3://***@bucket'
    """
    for secret in _hidden:
        text = text.replace(secret, HIDDEN)
    return text


def _hide(secret: str, least: int) -> None:
    forms = {secret, unquote(secret), quote(unquote(secret)), quote(unquote(secret), safe="")}
    new = [form for form in forms if len(form) >= least and form not in _hidden]
    if new:
        _hidden[:] = sorted([*_hidden, *new], key=len, reverse=True)
