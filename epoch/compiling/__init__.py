"""How kernels are compiled, kept on disk as machine code, awaited, and run without numba."""
