"""How what is shown is put: short, and without secrets."""
