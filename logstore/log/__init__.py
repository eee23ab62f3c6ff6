"""One log in use: what moves its ends, what grows it, what reads it."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.log import log_producer as log_producer
    from logstore.log import timestamp_search as timestamp_search

__getattr__: Loader = lazy_modules(__name__)
