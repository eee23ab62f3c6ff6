"""Sockets and threads of a server."""
