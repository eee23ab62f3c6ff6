"""Damage of a broker's logs, until it is settled and reported."""
