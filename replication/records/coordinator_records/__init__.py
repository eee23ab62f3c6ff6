"""The records in which coordinators keep what they know, in topics of their own."""
