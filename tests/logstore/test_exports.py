"""What `import logstore` offers, and what it costs."""

import re
import subprocess
import sys
from pathlib import Path

import logstore


def test_every_name_on_offer_is_there() -> None:
    for name in logstore.__all__:
        assert getattr(logstore, name) is not None
    assert set(logstore.__all__) <= set(dir(logstore))


def test_type_checkers_see_the_same_names() -> None:
    stub = (Path(logstore.__file__).parent / "__init__.pyi").read_text()
    assert set(re.findall(r"\bas (\w+)", stub)) == set(logstore.__all__)


def test_importing_loads_neither_numba_nor_numpy() -> None:
    program = "import sys, logstore; print(sorted({'numba', 'numpy', 'cramjam', 'zstandard'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"[]\n"


def test_reading_batches_in_plain_python_never_loads_numba() -> None:
    program = (
        "import sys, logstore\nfor name in logstore.__all__: getattr(logstore, name)\nprint('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"False\n"


def test_opening_logs_loads_nothing_of_what_few_programs_do() -> None:
    program = (
        "import sys\nfrom logstore import Log, LogDirectory\n"
        "rare = ('logstore.compaction', 'logstore.log.backup', 'logstore.offline.live', 'subprocess')\n"
        "print(sorted(name for name in sys.modules if name.startswith(rare)))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"[]\n"
