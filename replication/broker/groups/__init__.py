"""Groups of consumers by the classic protocol, and what they commit: in memory, without sockets or threads."""
