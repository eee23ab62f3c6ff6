"""Opening a log: what was left over, what is recovered after a crash, and what was dropped."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.recovery import dropped_batches as dropped_batches
    from logstore.recovery import dropped_tail as dropped_tail
    from logstore.recovery import segment_ends as segment_ends
    from logstore.recovery import segment_recovery as segment_recovery
    from logstore.recovery import segment_split as segment_split

__getattr__: Loader = lazy_modules(__name__)
