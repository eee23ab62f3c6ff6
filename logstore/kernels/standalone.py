"""The kernels that a log is verified with: they run without numba once their machine code is kept."""

from typing import Final

from epoch.compiling.standalone_kernel import StandaloneKernel

scan_batches: Final = StandaloneKernel("logstore.kernels.scan", "scan_batches")
search_batch: Final = StandaloneKernel("logstore.kernels.scan", "search_batch")
check_batches: Final = StandaloneKernel("logstore.kernels.decode", "check_batches")
total_batches: Final = StandaloneKernel("logstore.kernels.totals", "total_batches")
offset_index_agrees: Final = StandaloneKernel("logstore.kernels.index_agreement", "offset_index_agrees")
time_index_agrees: Final = StandaloneKernel("logstore.kernels.index_agreement", "time_index_agrees")
digest_batches: Final = StandaloneKernel("logstore.kernels.digest", "digest_batches")
sound_run: Final = StandaloneKernel("logstore.kernels.sound_run", "sound_run")
