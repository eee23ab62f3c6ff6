"""What codecs raise: callers make errors of their own of it, which say what could not be read or written, and where."""

import struct
from typing import Final

CODEC_ERRORS: Final = (LookupError, OverflowError, ValueError, struct.error)
"""What reading may raise, for bytes that are damaged."""

UNFIT_ERRORS: Final = (*CODEC_ERRORS, AttributeError, TypeError)
"""What writing may raise, for values that do not fit their fields."""
