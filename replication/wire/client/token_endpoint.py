"""Asks a token endpoint for a token by client credentials (RFC 6749, 4.4)."""

import base64
import json
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from replication.wire.client.bearer_token import BearerToken
from replication.wire.errors import AuthenticationFailedError

_ADVICE: Final = "check the token endpoint's URL, the client's id, its secret and the scope"
_MOST_BYTES: Final = 1 << 20
_TOLD: Final = 200


def obtain(url: str, client_id: str, client_secret: str, scope: str | None, seconds: float) -> BearerToken:
    """Return a new token. Raises AuthenticationFailedError, which never has the secret or a token."""
    begun = time.monotonic()
    try:
        response = _response(_request(url, client_id, client_secret, scope), seconds)
        return BearerToken.of(json.loads(response), begun, time.time())
    except urllib.error.HTTPError as error:
        with error:
            reason = f"refuses: {_refusal(error)}"
        raise AuthenticationFailedError(f"the token endpoint {url} {reason}", _ADVICE) from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        raise AuthenticationFailedError(f"the token endpoint {url} answers with what is not JSON", _ADVICE) from None
    except (OSError, HTTPException) as error:
        reason = f"does not answer: {getattr(error, 'reason', error)}"
        raise AuthenticationFailedError(f"the token endpoint {url} {reason}", _ADVICE) from error
    except ValueError as error:
        raise AuthenticationFailedError(f"the token endpoint {url} gives no token: {error}", _ADVICE) from error


def _request(url: str, client_id: str, client_secret: str, scope: str | None) -> urllib.request.Request:
    form = {"grant_type": "client_credentials"} | ({} if scope is None else {"scope": scope})
    # Both are encoded as in a form before they are joined: RFC 6749, 2.3.1.
    credentials = f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode()
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {base64.b64encode(credentials).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    return urllib.request.Request(url, urlencode(form).encode(), headers)  # noqa: S310  the settings allow https and http


def _response(request: urllib.request.Request, seconds: float) -> bytes:
    with urllib.request.build_opener(_NoRedirects).open(request, timeout=seconds) as response:
        data: bytes = response.read(_MOST_BYTES)
    return data


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A client's secret goes to nobody else."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none."""


def _refusal(error: urllib.error.HTTPError) -> str:
    """Return the status, and what the endpoint says (RFC 6749, 5.2)."""
    status = f"{error.code} {error.reason}"
    try:
        told = json.loads(error.read(_MOST_BYTES))
        words = [str(told[name])[:_TOLD] for name in ("error", "error_description") if name in told]
    except (ValueError, TypeError, OSError, HTTPException, RecursionError):
        return status
    return ": ".join([status, *words])
