"""The metadata of a KRaft cluster: the records of `__cluster_metadata`, and the image that replaying them gives.

Nothing here needs a socket, a clock or kio.
"""
