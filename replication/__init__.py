"""Everything about more than one replica: following leaders, planning, the command line, audits of clusters."""

__distribution__ = "epochlog 0.1.0"
__version__ = __distribution__.partition(" ")[2]

from replication.belonging import ensure_together
from replication.lazy_names import lazy_names

__all__ = ["Follower"]

__getattr__ = lazy_names(__name__, {"Follower": "fetcher.follower"})


ensure_together(__name__, __distribution__)
