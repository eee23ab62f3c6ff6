"""`python -m epoch.compiling.shipping PACKAGE DIRECTORY` makes all; a file instead, one as numba is set to compile."""

import sys
from pathlib import Path

from epoch.compiling.shipping.shared_object import can_be_made, make, make_all

if __name__ == "__main__":
    package, target = sys.argv[1], Path(sys.argv[2])
    if target.suffix == ".so":
        make(package, target)
    elif can_be_made():
        make_all(package, target)
    else:
        sys.stdout.write("machine code is shipped for Linux on x86-64 alone: the wheel is without\n")
