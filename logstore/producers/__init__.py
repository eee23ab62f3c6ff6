"""What a log knows of idempotent and transactional producers."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.producers import producer as producer
    from logstore.producers import producer_append as producer_append
    from logstore.producers import unwritten_files as unwritten_files

__getattr__: Loader = lazy_modules(__name__)
