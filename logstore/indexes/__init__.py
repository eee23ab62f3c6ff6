"""The indexes of a segment: their formats, and those of a log in use."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.indexes import live_transaction_index as live_transaction_index
    from logstore.indexes import offset_index as offset_index
    from logstore.indexes import transaction_index as transaction_index

__getattr__: Loader = lazy_modules(__name__)
