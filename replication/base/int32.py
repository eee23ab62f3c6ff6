"""Java's int: numbers that were written as text, and the hash of a string (Java: Integer.parseInt, String.hashCode)."""

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


def java_hash(text: str) -> int:
    """Return Java's hash of a string, an int32.

    >>> java_hash("orders"), java_hash("")
    (-1008770331, 0)
    """
    value, units = 0, text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return wrapped_int32(value)


def wrapped_int32(value: int) -> int:
    """Wrap around as Java's int does."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
