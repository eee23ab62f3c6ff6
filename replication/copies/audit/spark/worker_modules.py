"""Spares Spark's Python workers looking for garbage among all that they have loaded, which they do after each use."""

import gc
import os
import sys
from dataclasses import dataclass
from typing import Final

IS_WORKER: Final = os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER" or any(
    name.startswith("PYTHON_WORKER_FACTORY_") for name in os.environ
)
"""Whether Spark started this process: for its tasks, or to plan what a data source reads. Spark 4.1 names only how such
a process reaches it."""


@dataclass(slots=True)
class WorkerModules:
    """What a worker has loaded, as far as its collections of garbage do not look at it any more."""

    kept: int = 0
    """Modules."""

    def keep(self) -> None:
        """Exclude what is loaded from garbage collection, where that is more than before.

        Modules stay as long as the worker does. With kernels, Arrow and pandas each collection takes 40 to 60 ms.
        """
        if len(sys.modules) != self.kept:
            gc.collect()  # what is garbage now would stay too
            gc.freeze()
            self.kept = len(sys.modules)


WORKER_MODULES: Final = WorkerModules()
"""Those of this process."""


def keep_modules() -> None:
    """Call it when the work of a task is done; in other processes than Spark's workers it does nothing."""
    if IS_WORKER:
        WORKER_MODULES.keep()
