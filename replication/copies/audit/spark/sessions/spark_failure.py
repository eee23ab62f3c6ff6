"""What a failure of Spark's comes down to."""

import re
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

SPARK_ERRORS: Final = (PySparkException, Py4JJavaError)
"""What a job that fails raises: of the second kind is what pyspark does not translate."""


def cause_of(error: Exception) -> str:
    """Find what went wrong in the many lines that Spark prints of a failure: the last error of Python's, if any."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    return (errors or lines or [type(error).__name__])[-1 if errors else 0]
