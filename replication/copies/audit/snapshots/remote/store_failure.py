"""What a store's refusal is called, what to do about it, and whether to ask again."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Again(Enum):
    """How often a request that failed is sent."""

    ONCE_MORE = 2
    """The answer will be the same, unless it was not the store's."""
    TWICE_MORE = 3
    """Each costs the whole time-out."""
    FOR_SOME_SECONDS = 10


@dataclass(frozen=True, slots=True)
class StoreFailure:
    """A kind of failure."""

    name: str
    advice: str
    again: Again

    def describe(self, answer: str) -> str:
        """Word an error, from what the store or pyarrow has said."""
        told = answer.rstrip(": .")  # pyarrow's ends so where the store's is empty
        return f"{self.name}: {told}; {self.advice}" if told else f"{self.name}; {self.advice}"


_RETRY: Final = Again.FOR_SOME_SECONDS
OTHER: Final = StoreFailure("request failed", "look into the store and the network, and audit again", _RETRY)
_KINDS: Final = (
    (
        r"EXPIRED_?TOKEN|TokenRefreshRequired|INVALID_?TOKEN|InvalidSecurity|invalid_grant",
        StoreFailure("credentials expired", "renew them, and audit again", Again.ONCE_MORE),
    ),
    (
        r"INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN|UNAUTHENTICATED",
        StoreFailure(
            "credentials refused", "the store knows no such key, or has another signature for it", Again.ONCE_MORE
        ),
    ),
    (
        r"TIME_TOO_SKEWED",
        StoreFailure("clock wrong", "this machine's differs from the store's: set it", Again.ONCE_MORE),
    ),
    (
        r"ACCESS_DENIED|PERMISSION_DENIED|HTTP status 40[13]\b",
        StoreFailure(
            "access denied",
            "allow these credentials to list the bucket and to read its objects (s3:ListBucket and s3:GetObject; "
            "storage.objects.list and storage.objects.get)",
            Again.ONCE_MORE,
        ),
    ),
    (
        r"HTTP status 400\b",
        StoreFailure(
            "request refused",
            "answers to HEAD have no reason: most often the credentials have expired, or the region is another one",
            Again.ONCE_MORE,
        ),
    ),
    (r"NO_SUCH_BUCKET", StoreFailure("no such bucket", "correct the address", Again.ONCE_MORE)),
    (
        r"HTTP status 30[17]\b",
        StoreFailure("wrong region", "give the bucket's: ?region=eu-west-1", Again.ONCE_MORE),
    ),
    (
        r"curlCode: 28\b|CURL error \[28\]|DEADLINE_EXCEEDED|REQUEST_TIMEOUT",
        StoreFailure(
            "timed out",
            "no byte came for the seconds that request_timeout in the address gives (5), or no connection within "
            "connect_timeout (5)",
            Again.TWICE_MORE,
        ),
    ),
    (
        r"curlCode: [67]\b|CURL error \[[67]\]",
        StoreFailure("store not reached", "see that its address is right (endpoint_override), and reachable", _RETRY),
    ),
    (
        r"SLOW_DOWN|SERVICE_UNAVAILABLE|THROTTLING|RESOURCE_EXHAUSTED|HTTP status (?:429|503)\b",
        StoreFailure("store too busy", "audit with fewer workers, or later", _RETRY),
    ),
    (
        r"INTERNAL_FAILURE during GetObject operation: Failed to flush",
        StoreFailure(
            "read refused",
            "the reason is lost where the store words it in more bytes than were asked for: look into its log",
            _RETRY,
        ),
    ),
    (
        r"INTERNAL_FAILURE|HTTP status 5\d\d\b|UNAVAILABLE",
        StoreFailure("store failed", "look into its state, and audit again", _RETRY),
    ),
)


def failure_of(error: OSError) -> StoreFailure:
    """Return what kind of failure an error of pyarrow is."""
    answer = str(error)
    return next((kind for pattern, kind in _KINDS if re.search(pattern, answer, re.IGNORECASE)), OTHER)
