"""Transactions that nobody will end, on a running cluster; and what unclean elections made of transactions, in copies.

>>> from replication.transactions import find_hanging
>>> with ClusterClient("broker1:9092") as client:
...     for each in find_hanging(client).transactions:
...         print(each.transaction, each.verdict)

Names load their modules on first use.
"""

from replication.base.lazy_names import lazy_names

_NAMES_BY_MODULE = {
    "copies.transactions.broken_transaction": ("BrokenTransaction", "Break"),
    "copies.transactions.broken_transactions": ("ComparedTransactions", "find_broken"),
    "cluster.transactions.cluster": ("abort_hanging", "find_hanging"),
    "cluster.transactions.ending": ("Ended",),
    "cluster.transactions.judged_transaction": ("JudgedTransaction", "Verdict"),
    "cluster.transactions.open_transaction": ("OpenTransaction",),
    "cluster.transactions.search": ("Found", "Gap"),
}
_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
__all__ = sorted(_MODULES)  # noqa: PLE0605  the list that the names are loaded by
__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)
