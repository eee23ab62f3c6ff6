"""Numba kernels over the raw bytes of log files. Importing any module here imports numba."""
