"""Prepares batches before they are written: validates them and assigns their offsets."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.append import plain_encoder as plain_encoder

__getattr__: Loader = lazy_modules(__name__)
