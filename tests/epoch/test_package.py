"""What `import epoch` gives, and what it costs."""

import subprocess
import sys

import epoch


def test_what_is_exported_is_sorted_and_there() -> None:
    for name in epoch.__all__:
        assert getattr(epoch, name) is not None


def test_importing_it_loads_neither_numpy_nor_numba() -> None:
    code = "import sys, epoch; sys.exit(bool({'numpy', 'numba'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
