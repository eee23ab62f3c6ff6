"""Records of magic 2, decoded: one by one in plain Python, or many by a kernel."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.batch.decoding import plain_records as plain_records
    from logstore.batch.decoding import whole_records as whole_records

__getattr__: Loader = lazy_modules(__name__)
