"""Batches of records: their bytes, their headers, and the records within."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.batch import batch_template as batch_template
    from logstore.batch import control as control

__getattr__: Loader = lazy_modules(__name__)
