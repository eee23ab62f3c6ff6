"""What every package may use: limits of the system, forked processes, names that have changed."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from epoch.base import mapping as mapping

__getattr__: Loader = lazy_modules(__name__)
