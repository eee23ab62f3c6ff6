"""Observers that are built in."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.log.observers import logging_thread as logging_thread

__getattr__: Loader = lazy_modules(__name__)
