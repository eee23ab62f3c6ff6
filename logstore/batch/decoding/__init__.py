"""Records of magic 2, decoded: one by one in plain Python, or many by a kernel."""
