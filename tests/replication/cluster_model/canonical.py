"""Values of which equal ones are one object, so that comparing and hashing them costs nothing."""

from operator import attrgetter
from typing import Any


class Canonical(type):
    """Of a frozen dataclass with `eq=False`: to make a value that exists already gives that one."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        made = super().__call__(*args, **fields)
        known: dict[Any, Any] | None = cls.__dict__.get("_known")
        if known is None:
            known = _begin(cls)
        return known.setdefault(cls._values(made), made)  # type: ignore[attr-defined]

    def forget(cls) -> None:
        """Let go of all that were made, of which none may be in use."""
        cls.__dict__.get("_known", {}).clear()


def _begin(cls: Any) -> dict[Any, Any]:
    cls._values = attrgetter(*cls.__dataclass_fields__)
    cls._known = {}
    return cls._known  # type: ignore[no-any-return]
