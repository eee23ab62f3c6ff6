"""How messages become bytes: frames, headers, and kio behind one interface."""
