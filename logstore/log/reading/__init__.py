"""Reading a log record by record: to its end, or as it grows."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.log.reading import place as place
    from logstore.log.reading import record_lookup as record_lookup
    from logstore.log.reading import sound_ranges as sound_ranges
    from logstore.log.reading import tail as tail
    from logstore.log.reading import view_source as view_source

__getattr__: Loader = lazy_modules(__name__)
