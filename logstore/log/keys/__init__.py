"""Records by key: an index beside the segments, made when it is first asked for."""
