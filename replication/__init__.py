"""Everything about more than one replica: following leaders, planning, the command line, audits of clusters."""

__distribution__ = "epochlog 0.2.0"
__version__ = __distribution__.partition(" ")[2]

from replication.base.belonging import ensure_together
from replication.base.lazy_names import lazy_names

__all__ = ["FetchObserver", "Follower"]
_MODULES = {"FetchObserver": "cluster.fetcher.fetch_observer", "Follower": "cluster.fetcher.follower"}
__getattr__ = lazy_names(__name__, _MODULES)


ensure_together(__name__, __distribution__)
