"""What recovery may do where a log is damaged."""

from typing import TYPE_CHECKING

from epoch.base.lazy_modules import Loader, lazy_modules

if TYPE_CHECKING:
    from logstore.recovery.damage import epoch_order as epoch_order
    from logstore.recovery.damage import following_batch as following_batch
    from logstore.recovery.damage import held_damage as held_damage
    from logstore.recovery.damage import segment_chain as segment_chain
    from logstore.recovery.damage import set_aside as set_aside
    from logstore.recovery.damage import treatment as treatment

__getattr__: Loader = lazy_modules(__name__)
