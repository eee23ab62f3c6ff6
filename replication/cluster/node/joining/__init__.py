"""A broker of a cluster whose controllers are elsewhere, from its directories on."""
