"""Nodes that live: followers, mirrors, controllers, brokers, servers of copies, operators' questions."""
