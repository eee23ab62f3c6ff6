"""The follower side of replication: truncate where the leader's epochs say, then fetch."""
