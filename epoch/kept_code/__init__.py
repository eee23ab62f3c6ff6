"""Machine code of kernels that is kept on disk, and run without numba."""
