"""What a log holds, its lock, and the way back from a call that failed."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.log.state import root_claims as root_claims

__getattr__: Loader = lazy_modules(__name__)
