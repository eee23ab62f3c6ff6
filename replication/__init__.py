"""Everything that needs more than one replica: planning, the command line, and the audit of whole clusters."""
