"""What a broker is, and its life from registration to controlled shutdown; it follows no partitions (KIP-631)."""
