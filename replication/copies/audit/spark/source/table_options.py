"""The options of tables in a catalog: Spark hands them over when a table is made, and not when it is read.

So they are kept with the columns that the table is made with. Of columns that a statement declares Spark asks nobody:
such a table is read with its options named anew.
"""

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from pyspark.sql.types import StructType

from logstore.text.address_secrets import redacted
from replication.base.errors import NotAllowedError
from replication.copies.audit.log_rows.options.range_options import refused_option

KEPT: Final = "kafka-log"
"""What the options are called in the metadata of a table's first column."""
_PROVIDER: Final = "provider"
"""Spark adds this, and more of its own, to what it hands over of a statement `CREATE TABLE`."""
_OPTION: Final = "option."
_PLACES: Final = ("path", "paths")
FORM: Final = "SELECT ... FROM t WITH (path = '/backup/broker-1')"


def options_of_new_table(options: Mapping[str, str]) -> dict[str, str] | None:
    """Return what `OPTIONS` and `LOCATION` of a statement `CREATE TABLE` say; None where there is no such statement.

    >>> options_of_new_table({"provider": "kafka-log", "location": "file:/backup", "option.rows": "records"})
    {'rows': 'records', 'path': 'file:/backup'}
    """
    if options.get(_PROVIDER, "").lower() != KEPT:
        return None
    given = {name.removeprefix(_OPTION): value for name, value in options.items() if name.startswith(_OPTION)}
    if "location" in options and "paths" not in given:
        place = options["location"]
        # Spark writes each `%` and `?` of an address in another form.
        given["path"] = place if place.startswith("file:") else unquote(place)
    return given


def with_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Keep options with the columns of a new table. Raises NotAllowedError for one with a secret in it."""
    if any(redacted(value) != value for value in options.values()):
        raise NotAllowedError(
            "the address of a table in a catalog",
            "with what is secret in it",
            "one without keys, as everybody sees it who sees the table: leave them to the environment, or make a "
            "temporary view",
        )
    schema[schema.names[0]].metadata = {KEPT: json.dumps(options)}
    return schema


def options_with(schema: StructType, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options that are kept with columns, with those that are given now before them."""
    kept = next((field.metadata[KEPT] for field in schema if KEPT in field.metadata), "{}")
    stored: dict[str, str] = json.loads(kept)
    if any(name in given for name in _PLACES):
        stored = {name: value for name, value in stored.items() if name not in _PLACES}
    return {**stored, **given}


def ensure_placed(options: Mapping[str, str]) -> None:
    """Raise NotAllowedError where no path is named, in a table whose columns were declared with it for example."""
    if not has_place(options):
        allowed = (
            "one [NAME=]URI, or a list of them: load('/backup/broker-1'); of a table in a catalog with columns of its "
            f"own Spark hands over no options: name them as you read it, {FORM}, or make it without columns"
        )
        raise refused_option("path", None, allowed)


def has_place(options: Mapping[str, str]) -> bool:
    """Whether a path is named."""
    return any(name in options for name in _PLACES)
