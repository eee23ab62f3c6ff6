"""Log directories that nobody writes to, read as they are."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import lazy_modules

if TYPE_CHECKING:
    from logstore.offline import header_scan as header_scan
    from logstore.offline import log_file as log_file

__getattr__ = lazy_modules(__name__)
