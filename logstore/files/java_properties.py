"""Files of Java properties, as Kafka's settings and `meta.properties` are (java.util.Properties)."""

import re
from collections.abc import Iterator
from typing import Final

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_PROPERTY: Final = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS: Final = " \t\f"


def parse_properties(data: bytes) -> dict[str, str]:
    r"""Read properties as Java does: continued lines and escapes, in ISO-8859-1; of a key's values the last.

    >>> parse_properties(b"node.id=1\nlog.dirs=/one,\\\n  /two\n")
    {'node.id': '1', 'log.dirs': '/one,/two'}
    """
    found = (_PROPERTY.fullmatch(line) for line in _logical_lines(data.decode("latin-1")))
    return {_plain(match["key"]): _plain(match["value"]) for match in found if match is not None}


def _logical_lines(text: str) -> Iterator[str]:
    """Join lines that end in a backslash with the next; leave out comments and blank lines."""
    before, is_continued = "", False
    for natural in _LINE_END.sub("\n", text).removesuffix("\n").split("\n"):
        line = natural.lstrip(_BLANKS)
        if not before and (not line or line[0] in "#!"):
            is_continued = False
            continue
        is_continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        before += line[:-1] if is_continued else line
        if not is_continued:
            yield before
            before = ""
    if is_continued:
        yield before


def _plain(text: str) -> str:
    """Replace escapes by what they stand for; two of them may be one character of UTF-16."""
    plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2]), text)
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
