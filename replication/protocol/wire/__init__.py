"""How messages become bytes: frames, bounds, and the schemas of kio behind one interface."""
