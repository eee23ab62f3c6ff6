"""Connections to brokers: sockets, TLS and SASL, versions, requests and responses."""
