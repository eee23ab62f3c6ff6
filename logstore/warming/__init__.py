"""All kernels at once: compiled, kept, loaded."""
