"""Log directories that nobody writes to, read as they are."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.offline import header_scan as header_scan
    from logstore.offline import log_file as log_file

__getattr__: Loader = lazy_modules(__name__)
