"""How clients prove who they are: SASL, users, and TLS."""
