"""What a package index shows of the README: its text without links and pictures that are files of this repository."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)\s]+\)\n*")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)[^)\s]+\)")


class ReadmeOfIndex(MetadataHookInterface):
    """Gives the build the long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set it."""
        metadata["readme"] = {"content-type": "text/markdown", "text": without_files(readme(self.root))}


def readme(root: str) -> str:
    """Return the README."""
    return (Path(root) / "README.md").read_text(encoding="utf-8")


def without_files(text: str) -> str:
    """Leave pictures out, and of links their text, where they are relative: an index has no such files."""
    return LINK.sub(r"\1", PICTURE.sub("", text))
