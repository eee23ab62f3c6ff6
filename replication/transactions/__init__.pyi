# What `import replication.transactions` offers, for type checkers; `__init__.py` loads each name on first use.
from replication.transactions.broken_transaction import Break as Break
from replication.transactions.broken_transaction import BrokenTransaction as BrokenTransaction
from replication.transactions.broken_transactions import ComparedTransactions as ComparedTransactions
from replication.transactions.broken_transactions import find_broken as find_broken
from replication.transactions.cluster import abort_hanging as abort_hanging
from replication.transactions.cluster import find_hanging as find_hanging
from replication.transactions.ending import Ended as Ended
from replication.transactions.judged_transaction import JudgedTransaction as JudgedTransaction
from replication.transactions.judged_transaction import Verdict as Verdict
from replication.transactions.open_transaction import OpenTransaction as OpenTransaction
from replication.transactions.search import Found as Found
from replication.transactions.search import Gap as Gap
