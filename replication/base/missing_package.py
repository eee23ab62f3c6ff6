"""A package that the library core does without, and the extra of epochlog that installs it."""

from typing import Final

_EXTRAS: Final = {
    "numba": "compile",
    "llvmlite": "compile",
    "typer": "cli",
    "rich": "cli",
    "pyarrow": "audit",
    "prometheus_client": "audit",
    "pyspark": "spark",
    "py4j": "spark",
    "pandas": "spark",
    "kio": "wire",
    "cryptography": "wire",
    "kazoo": "zookeeper",
    "confluent_kafka": "produce",
}


def extra_of(error: ModuleNotFoundError) -> str | None:
    """Return the extra that installs what could not be imported; None where no extra does.

    >>> extra_of(ModuleNotFoundError(name="pyspark.sql"))
    'spark'
    """
    return _EXTRAS.get(package_of(error))


def package_of(error: ModuleNotFoundError) -> str:
    """Return the top-level package of what could not be imported."""
    return (error.name or "a package").partition(".")[0]


def missing_package(what: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return an error that says what needs a package and which extra installs it; where none does, the error itself."""
    extra = extra_of(error)
    if extra is None:
        return error
    message = f"{what} needs {package_of(error)}: install the extra `{extra}`, in a checkout: pip install '.[{extra}]'"
    return ModuleNotFoundError(message, name=error.name, path=error.path)
