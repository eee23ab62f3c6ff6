"""What replicas would truncate under which leader, and who should lead: decided from files, before it happens."""
