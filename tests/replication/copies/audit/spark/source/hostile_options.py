"""Options of `kafka-log` as somebody writes them who errs, or means harm."""

import json
import random
from typing import Final

from replication.copies.audit.log_rows.options.kafka_names import SAME
from replication.copies.audit.log_rows.options.source_options import OLD_NAMES, OPTIONS

NAMES: Final = [*OPTIONS, *OLD_NAMES, *SAME]
_NUMBERS: Final = ["0", "-1", "1", "-2", "9" * 30, "-" + "9" * 30, "9" * 5_000, "1e3", "NaN", "inf", "-0", "+5", "0x10"]
_NUMBERS += ["1_000", "007", "3.0", "9223372036854775807", "9223372036854775808", "-9223372036854775809"]
_DIGITS: Final = ["\u0663", "\uff11\uff12", "\u00b2", "\u00bd"]
_LETTERS: Final = [
    "",
    " ",
    "\t\n",
    "\r",
    "\u2028",
    "\x00",
    "\x1b[31m",
    "\u00e9",
    "\ud800",
    "pe\u0131ssive",
    "\u017ftrict",
]
_SIGNS: Final = [
    "'",
    "''",
    '"',
    "`",
    ";",
    "--",
    "/*",
    "*",
    "?",
    "[",
    "[!a]",
    "%",
    "_",
    "\\",
    ",",
    ",,",
    "=",
    "!=",
    "<>",
]
_SIGNS += ["<=>", "<", "(", ")", "()", "{}", "[]", "..", "/", "../.."]
_WORDS: Final = ["null", "true", "TRUE", "None", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS NULL", "SELECT 1"]
_WORDS += ["DROP TABLE x", "topic", "offset", "timestamp", "value", "orders", "orders-0", "orders-*", "-0", "earliest"]
_WORDS += ["latest", "a-99999999999", "a-2147483648", "records", "RECORDS", "read_committed", "failfast"]
_TIMES: Final = ["2026-11-21T07:55:55", "2026-11-21", "2026-11-21T07:55:55+25:00", "0001-01-01T00:00:00+23:00"]
_TIMES += ["9999-12-31T23:59:59-23:00", "99999-01-01"]
_JSON: Final = ['{"orders": {"0": 1}}', '{"orders": {"0": -1}}', '{"orders": {"0": 1e3}}', '{"orders": {"0": NaN}}']
_JSON += ['{"orders": {"00": 1, "0": 2}}', '{"orders": {"0": 1}, "orders": {"0": 2}}', '{"a": {"0": 1}, "b": []}']
_JSON += ['{"": {"0": 1}}', '{"orders": {"9999999999999999999": 1}}', '{"orders": {"0": ' + "9" * 30 + "}}"]
_LONG: Final = ["[" * 5_000, '{"a":' * 5_000, "(" * 5_000, "a" * 100_000]
ATOMS: Final = [*_NUMBERS, *_DIGITS, *_LETTERS, *_SIGNS, *_WORDS, *_TIMES, *_JSON, *_LONG]
_COLUMNS: Final = ["topic", "replica", "offset", "partition", "leader_epoch", "producer_id", "timestamp", "value"]
_COLUMNS += ["key", "timestamp_ms"]
_LITERALS: Final = ["1", "-1", "9" * 30, "'x'", "''", "'it''s'", "'noon'", "'2026-11-21T00:00:00+14:00'"]
_LITERALS += ["X'6b31'", "x''", "X'6'", "'a\\%'", "'%\\'", "'%_%_%_%_%'"]
_LITERALS += ["'0001-01-01T00:00:00+14:00'", "'9999-12-31T23:59:59.999999-14:00'", "-9223372036854775809"]


def text(chance: random.Random) -> str:
    """Put together what does not belong together."""
    count = chance.choice([1, 1, 1, 2, 3, 5, 8])
    return chance.choice(["", " "]).join(chance.choice(ATOMS) for _ in range(count))


def condition(chance: random.Random) -> str:
    """Write a condition of which most of SQL would make something, and `where` in part."""
    written = _comparison(chance)
    for _ in range(chance.choice([0, 0, 1, 2, 60]) if chance.random() < 0.9 else 3_000):
        other = _comparison(chance)
        forms = [f"({written}) AND {other}", f"{written} OR {other}", f"{other} AND ({written})", f"NOT ({written})"]
        written = chance.choice(forms)
    return written


def _comparison(chance: random.Random) -> str:
    column, one, other = chance.choice(_COLUMNS), chance.choice(_LITERALS), chance.choice(_LITERALS)
    forms = [f"{column} IN ({one}, {other})", f"{column} BETWEEN {one} AND {other}", f"{column} IS NULL"]
    forms += [f"{column} {sign} {one}" for sign in ("=", "!=", "<", ">=", "LIKE", "<=>")]
    return chance.choice(forms)


def options(chance: random.Random, place: str) -> dict[str, str]:
    """Choose options to read a place with, or one that is none."""
    chosen = {"path": place, "rows": chance.choice(["records", "batches"])}
    for _ in range(chance.choice([1, 1, 2])):
        name = chance.choice([*NAMES, *["where"] * 6])
        value = condition(chance) if name == "where" and chance.random() < 0.7 else text(chance)
        chosen[chance.choice([name, name.lower(), name.upper()])] = value
    if chance.random() < 0.1:
        chosen["path"] = text(chance)
    if chance.random() < 0.05:
        chosen["paths"] = chance.choice([text(chance), json.dumps([text(chance)]), json.dumps([text(chance)] * 2)])
    if chance.random() < 0.05:
        chosen[text(chance)] = "x"
    return chosen
