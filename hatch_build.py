"""What the project's metadata takes from the README, and how the machine code that was made goes into a wheel.

A package index shows the README's text without links and pictures that are files of this repository.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)\s]+\)\n*")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)[^)\s]+\)")


MACHINE_CODE = "EPOCHLOG_MACHINE_CODE"
"""The variable by which `make dist` says where it made the shared objects."""
PLATFORMS = "manylinux_2_17_{0}.musllinux_1_1_{0}"
"""They name no C library, and what they call every one has."""


class MachineCode(BuildHookInterface[Any]):
    """Puts the machine code of kernels into the wheel; without it one wheel serves all platforms."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files."""
        made = os.environ.get(MACHINE_CODE)
        if made is None or version == "editable":
            return
        files = [*Path(made).glob("*.so"), *Path(made).glob("manifest.json")]
        build_data["force_include"] |= {str(file): f"epoch/compiling/machine_code/{file.name}" for file in files}
        if files:
            build_data["tag"], build_data["pure_python"] = f"py3-none-{PLATFORMS.format(Path(made).name)}", False


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
