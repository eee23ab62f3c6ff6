"""Files by which a broker of ours knows what its logs have had, and what its directories are."""
