"""The command `epochlog`: under the distribution's own name, which no other one's package has."""

__distribution__ = "epochlog 0.2.0"
__version__ = __distribution__.partition(" ")[2]
