"""Conditions on rows, by which reading is spared: from options, in the words of SQL, and as Spark hands them over."""
