"""Places in a log that have a name and outlive the program."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.log.cursors import cursor_keeper as cursor_keeper
    from logstore.log.cursors import cursors as cursors

__getattr__: Loader = lazy_modules(__name__)
