"""Records of losing branches as columns: thousands are read and judged at once."""
