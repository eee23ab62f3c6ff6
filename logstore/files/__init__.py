"""The small files beside the segments, one file format each, and how files are locked and mapped."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import lazy_modules

if TYPE_CHECKING:
    from logstore.files import mapping as mapping

__getattr__ = lazy_modules(__name__)
