"""The `epochlog` command: one file per command, each imported only when it runs."""
