"""`python -m epoch.compiling.shipping PACKAGE DIRECTORY [MACHINE]` makes all of one kind of machine, below a directory.

With a file instead it makes that one, of what numba is set to compile for.
"""

import sys
from pathlib import Path

from epoch.compiling.shipping.shared_object import LEVELS, can_be_made, make, make_all


def main(package: str, directory: str, machine: str = "x86_64") -> None:
    """Make what the command line asks for."""
    target = Path(directory)
    if target.suffix == ".so":
        make(package, target)
    elif can_be_made():
        make_all(package, target / machine, LEVELS[machine])
    else:
        sys.stdout.write("machine code is made on Linux on x86-64 alone: the wheel is without\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
