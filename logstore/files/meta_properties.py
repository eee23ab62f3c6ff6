"""`meta.properties`: which node a log.dirs root belongs to (KIP-631, KIP-858; Kafka: MetaProperties)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from epoch.filesystem import REAL, FileSystem
from logstore.errors import CorruptMetadataError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.java_properties import parse_properties
from logstore.files.partition_metadata import parse_uuid

_MAX_BYTES: Final = 1 << 20
_NODE_ID_KEYS: Final = {0: "broker.id", 1: "node.id"}
_LINE: Final = re.compile(r"[ \t\f]*(?P<key>[^#!=: \t\f][^=: \t\f]*)[ \t\f]*[=: \t\f][ \t\f]*(?P<value>.*)")
_ESCAPED: Final = re.compile(r"[\\=:#! ]")
_AS_WRITTEN: Final = re.compile(r"[\w.-]+[ \t]*[=:].*", re.ASCII)
_CLUSTER_ID: Final = re.compile(r"[!-~]{1,256}")
_FIRST_OWN_ID: Final = 100
"""Those below stand for no directory, or for an unknown one."""


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The identity of a log.dirs root: version 0 is written under ZooKeeper, version 1 under KRaft."""

    version: int
    cluster_id: str | None
    node_id: int | None
    """`broker.id` of version 0."""
    directory_id: str | None
    """Which of a broker's several log.dirs this is; None before Kafka 3.7."""
    doubts: tuple[str, ...] = ()
    """What Kafka reads past, though it never writes it."""

    @classmethod
    def read(cls, path: Path) -> "MetaProperties":
        """Read the file. Raises CorruptMetadataError, and OSError where it cannot be read."""
        with open(path, "rb") as file:
            return cls.parse(file.read(_MAX_BYTES + 1), path)

    @classmethod
    def parse(cls, data: bytes, path: Path = Path(META_PROPERTIES_NAME)) -> "MetaProperties":
        """Read the file's bytes, Java properties."""
        if len(data) > _MAX_BYTES:
            raise CorruptMetadataError(f"more than {_MAX_BYTES:,} bytes are no properties", file=path, advice=_ADVICE)
        properties = parse_properties(data)
        version = _number(properties, "version", path) or 0
        if version not in _NODE_ID_KEYS:
            raise CorruptMetadataError(f"version {version} is not 0 or 1", file=path, advice=_ADVICE)
        node_id = _number(properties, _NODE_ID_KEYS[version], path)
        if version == 0 and node_id is None:
            what = "it has no node.id, and no broker.id" if data else "the file is empty, so it has no node.id"
            raise CorruptMetadataError(what, file=path, advice=_ADVICE)
        if version == 1 and (node_id is None or "cluster.id" not in properties):
            raise CorruptMetadataError("cluster.id or node.id is missing", file=path, advice=_ADVICE)
        cluster_id, directory_id = properties.get("cluster.id"), properties.get("directory.id")
        found = cls(version, cluster_id, node_id, directory_id, tuple(_doubts(data)))
        found.ensure_possible(path)
        return found

    def ensure_possible(self, path: Path = Path(META_PROPERTIES_NAME)) -> None:
        """Raise CorruptMetadataError where there can be no such node, cluster or directory."""
        if self.node_id is not None and not 0 <= self.node_id < 1 << 31:
            raise CorruptMetadataError(f"node {self.node_id} cannot be", file=path, advice=_ADVICE)
        if self.cluster_id is not None and _CLUSTER_ID.fullmatch(self.cluster_id) is None:
            raise CorruptMetadataError(f"cluster.id is {self.cluster_id!r:.60}", file=path, advice=_ADVICE)
        if self.directory_id is not None:
            _ensure_directory_id(self.directory_id, path)

    def encode(self, moment: datetime | None = None) -> bytes:
        """Return the file's bytes, as Kafka writes them; the second line is `moment`, now unless given."""
        properties = {
            _NODE_ID_KEYS[self.version]: self.node_id,
            "directory.id": self.directory_id,
            "version": self.version,
            "cluster.id": self.cluster_id,
        }
        lines = [f"#{moment or datetime.now(UTC):%a %b %d %H:%M:%S %Z %Y}"]
        lines += [f"{key}={_escaped(value)}" for key, value in properties.items() if value is not None]
        return "\n".join(["#", *lines, ""]).encode("latin-1")

    def write(self, path: Path, filesystem: FileSystem = REAL) -> None:
        """Replace the file, atomically and durably. Raises OSError."""
        filesystem.write_atomically(path, self.encode())


def _escaped(value: str | int) -> str:
    return _ESCAPED.sub(r"\\\g<0>", str(value))


_ADVICE = "compare with the other log.dirs of the same broker, which state the same cluster and node"


def _doubts(data: bytes) -> Iterator[str]:
    """Find lines that Kafka would not write, and duplicate keys."""
    seen: set[str] = set()
    for number, line in enumerate(data.decode("latin-1").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        match = _LINE.fullmatch(line)
        if match is None or _AS_WRITTEN.fullmatch(line) is None:
            yield f"line {number} is {line!r:.60}"
        elif match["key"] in seen:
            yield f"line {number} states {match['key']} again"
        else:
            seen.add(match["key"])


def _ensure_directory_id(text: str, path: Path) -> None:
    try:
        number = parse_uuid(text).int
    except ValueError:
        raise CorruptMetadataError(f"directory.id is {text!r:.60}, which is no id", file=path, advice=_ADVICE) from None
    # The lower half has a sign (Kafka: DirectoryId.reserved).
    if number in range(_FIRST_OWN_ID) or number in range(1 << 63, 1 << 64):
        raise CorruptMetadataError(
            f"directory.id is {text!r}, which is reserved: it means no directory, and a broker does not start with it",
            file=path,
            advice="remove the line: the broker's next start gives the directory an id",
        )


def _number(properties: dict[str, str], key: str, path: Path) -> int | None:
    text = properties.get(key)
    if text is None:
        return None
    if re.fullmatch(r"-?\d{1,10}", text, re.ASCII) is None:
        raise CorruptMetadataError(f"{key} is {text!r:.60}, not a number", file=path, advice=_ADVICE)
    return int(text)
