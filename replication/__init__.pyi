# What `import replication` offers, for type checkers; `__init__.py` loads each name on first use.
__version__: str

from replication.fetcher.follower import Follower as Follower
