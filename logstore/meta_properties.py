"""`meta.properties`: whose a log.dirs root is (KIP-631, KIP-858; Kafka: MetaProperties)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logstore.errors import CorruptMetadataError

META_PROPERTIES_NAME: Final = "meta.properties"
_MAX_BYTES: Final = 1 << 20
_NODE_ID_KEYS: Final = {0: "broker.id", 1: "node.id"}
_LINE: Final = re.compile(r"[ \t\f]*(?P<key>[^#!=: \t\f][^=: \t\f]*)[ \t\f]*[=: \t\f][ \t\f]*(?P<value>.*)")
_ESCAPE: Final = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """Version 0 is of clusters under ZooKeeper, version 1 of KRaft."""

    version: int
    cluster_id: str | None
    node_id: int | None
    """`broker.id` of version 0."""
    directory_id: str | None
    """Which of a broker's several log.dirs this is; None before Kafka 3.7."""

    @classmethod
    def read(cls, path: Path) -> "MetaProperties":
        """Read the file. Raises CorruptMetadataError, and OSError where it cannot be read."""
        with open(path, "rb") as file:
            return cls.parse(file.read(_MAX_BYTES), path)

    @classmethod
    def parse(cls, data: bytes, path: Path = Path(META_PROPERTIES_NAME)) -> "MetaProperties":
        """Read the file's bytes, Java properties."""
        properties = parse_properties(data)
        version = _number(properties, "version", path) or 0
        if version not in _NODE_ID_KEYS:
            raise CorruptMetadataError(f"version {version} is not 0 or 1", file=path, advice=_ADVICE)
        node_id = _number(properties, _NODE_ID_KEYS[version], path)
        if version == 1 and (node_id is None or "cluster.id" not in properties):
            raise CorruptMetadataError("cluster.id or node.id is missing", file=path, advice=_ADVICE)
        return cls(version, properties.get("cluster.id"), node_id, properties.get("directory.id"))


_ADVICE = "compare with the other log.dirs of the same broker, which state the same cluster and node"


def parse_properties(data: bytes) -> dict[str, str]:
    r"""Read Java properties, as far as Kafka writes them: no continued lines, no unicode escapes.

    >>> parse_properties(b"#\nnode.id=1\n")
    {'node.id': '1'}
    """
    lines = data.decode("latin-1").splitlines()
    return {match["key"]: _ESCAPE.sub(r"\1", match["value"]) for line in lines if (match := _LINE.fullmatch(line))}


def _number(properties: dict[str, str], key: str, path: Path) -> int | None:
    text = properties.get(key)
    if text is None:
        return None
    if re.fullmatch(r"-?\d{1,10}", text, re.ASCII) is None:
        raise CorruptMetadataError(f"{key} is {text!r:.60}, not a number", file=path, advice=_ADVICE)
    return int(text)
