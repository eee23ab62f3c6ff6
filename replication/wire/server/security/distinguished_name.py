"""The subject of a certificate as Kafka names its owner: RFC 2253, as Java writes it."""

from collections.abc import Iterator
from typing import Final, NamedTuple

_VERSION: Final = 0xA0
_FIELDS_BEFORE_SUBJECT: Final = 4
"""The serial number, the signature's algorithm, the issuer, and how long it is valid."""
_KEYWORDS: Final = {
    "550403": "CN",
    "550406": "C",
    "550407": "L",
    "550408": "ST",
    "550409": "STREET",
    "55040a": "O",
    "55040b": "OU",
    "0992268993f22c640119": "DC",
    "0992268993f22c640101": "UID",
}
"""By the identifier's bytes; others are written as numbers."""
_STRINGS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
"""The kinds of strings that Java writes as text, all as if they were UTF-8."""
_ESCAPED: Final = frozenset(',=+<>#;"\\')


class _Value(NamedTuple):
    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate in DER, such as CN=alice,O=Example; ValueError or IndexError for others."""
    (signed, *_) = _values(_only(certificate).content)
    fields = [field for field in _values(signed.content) if field.tag != _VERSION]
    names = [_values(name.content) for name in _values(fields[_FIELDS_BEFORE_SUBJECT].content)]
    return ",".join("+".join(map(_attribute, name)) for name in reversed(names))


def _attribute(value: _Value) -> str:
    identifier, content = _values(value.content)
    keyword = _KEYWORDS.get(identifier.content.hex())
    if keyword is None or content.tag not in _STRINGS:
        return f"{keyword or _dotted(identifier.content)}=#{content.whole.hex()}"
    return f"{keyword}={_escaped(content.content.decode(errors='replace'))}"


def _escaped(text: str) -> str:
    inner = "".join(f"\\{letter}" if letter in _ESCAPED else letter for letter in text.strip(" ")).replace("\0", "\\00")
    if not inner:
        return "\\ " * len(text)
    leading = len(text) - len(text.lstrip(" "))
    trailing = len(text) - len(text.rstrip(" "))
    return "\\ " * leading + inner + "\\ " * trailing


def _dotted(identifier: bytes) -> str:
    numbers, number = [], 0
    for byte in identifier:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _only(data: bytes) -> _Value:
    return next(iter(_values(data)))


def _values(data: bytes) -> list[_Value]:
    return list(_each(data))


def _each(data: bytes) -> Iterator[_Value]:
    position = 0
    while position < len(data):
        start, tag, size = position, data[position], data[position + 1]
        position += 2
        if size >= 0x80:
            count = size & 0x7F
            size = int.from_bytes(data[position : position + count], "big")
            position += count
        if size > len(data) - position:
            raise ValueError("a value goes beyond the end of what holds it")
        yield _Value(tag, data[position : position + size], data[start : position + size])
        position += size
