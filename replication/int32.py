"""Numbers that were written as text: settings, options, answers (Java: Integer.parseInt)."""

import re
from typing import Final

INT32: Final = range(-(2**31), 2**31)
_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What Java's String.trim takes away."""
_NUMBER: Final = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>\d{1,10})")
"""No more digits than an int32 may have: of very many Python makes no number, but a ValueError."""


def parse_int32(text: str) -> int | None:
    """Read a decimal int32 with an optional sign, as Java does; None where it is none, however long it is.

    >>> parse_int32("+7"), parse_int32("2147483648"), parse_int32("9" * 5000)
    (7, None, None)
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    number = int(match["sign"] + match["digits"])
    return number if number in INT32 else None


def parse_setting(text: str) -> int | None:
    """Read the value of an int setting: with blanks around it too (Kafka: ConfigDef.parseType)."""
    return parse_int32(text.strip(_BLANKS))
