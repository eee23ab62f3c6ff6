"""One segment of a log in use: its files, what is read of it, and the list of all."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.segment import read_view as read_view
    from logstore.segment import single_record as single_record

__getattr__: Loader = lazy_modules(__name__)
