"""Who may do what, by the access control entries of a cluster's metadata (KIP-11, KIP-290, KIP-801)."""
