"""Appends that are waited for until they are on stable storage."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.log.durable import durable_appends as durable_appends

__getattr__: Loader = lazy_modules(__name__)
