"""Every hot path once, in two minutes, held against what the same processor did before."""
