"""Where something is missing, nothing is mounted, and everybody is told what to do."""

import subprocess
import sys
from pathlib import Path

from tests.filesystems.mounting import KINDS

ROOT = Path(__file__).parents[2]


def test_each_missing_program_is_named_with_what_installs_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.filesystems"]
    refused = subprocess.run(
        command, cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert refused.stdout == ""
    for program in ("mount", "umount", "unshare", "setpriv", *(kind.make[0] for kind in KINDS.values())):
        assert f"Missing: {program}: tests/install filesystems installs it" in refused.stderr


def test_an_unknown_file_system_is_refused_with_those_that_are_known() -> None:
    command = [sys.executable, "-m", "tests.filesystems", "reiserfs"]
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "'reiserfs' (choose from" in refused.stderr
    assert all(kind in refused.stderr for kind in KINDS)
