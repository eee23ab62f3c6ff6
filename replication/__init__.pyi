# What `import replication` offers, for type checkers; `__init__.py` loads each name on first use.
__version__: str

from replication.cluster.fetcher.fetch_observer import FetchObserver as FetchObserver
from replication.cluster.fetcher.follower import Follower as Follower
