"""How many cases the kernel tests try: fewer where kernels run as plain Python."""

import os

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
EXAMPLES = 200 if JIT else 60
FUZZED = 4_000 if JIT else 1_000
