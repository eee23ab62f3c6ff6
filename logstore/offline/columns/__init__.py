"""The records of log files as columns, whatever the codec and the magic, and as Arrow has them."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.offline.columns import column_source as column_source

__getattr__: Loader = lazy_modules(__name__)
