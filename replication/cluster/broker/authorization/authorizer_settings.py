"""What the properties of a broker say of its authorizer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerSettings:
    """Who is above the entries, and what holds where there are none."""

    super_users: frozenset[str] = frozenset()
    """Principals that may do everything, such as `User:admin`."""
    allow_everyone_if_no_acl_found: bool = False
    """Whether everybody may do everything with a resource that no entry is about."""

    @classmethod
    def of_properties(cls, properties: Mapping[str, str]) -> Self:
        """Create it from `super.users`, separated by semicolons, and `allow.everyone.if.no.acl.found`."""
        named = (each.strip() for each in properties.get("super.users", "").split(";"))
        everyone = properties.get("allow.everyone.if.no.acl.found", "")
        return cls(
            super_users=frozenset(filter(None, named)),
            allow_everyone_if_no_acl_found=everyone.strip().lower() == "true",
        )
