# What `import replication.transactions` offers, for type checkers; the module loads each name on first use.
from replication.cluster.transactions.cluster import abort_hanging as abort_hanging
from replication.cluster.transactions.cluster import find_hanging as find_hanging
from replication.cluster.transactions.ending import Ended as Ended
from replication.cluster.transactions.judged_transaction import JudgedTransaction as JudgedTransaction
from replication.cluster.transactions.judged_transaction import Verdict as Verdict
from replication.cluster.transactions.open_transaction import OpenTransaction as OpenTransaction
from replication.cluster.transactions.search import Found as Found
from replication.cluster.transactions.search import Gap as Gap
from replication.copies.transactions.broken_transaction import Break as Break
from replication.copies.transactions.broken_transaction import BrokenTransaction as BrokenTransaction
from replication.copies.transactions.broken_transactions import ComparedTransactions as ComparedTransactions
from replication.copies.transactions.broken_transactions import find_broken as find_broken
