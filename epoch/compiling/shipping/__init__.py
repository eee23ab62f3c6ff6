"""How the machine code that a wheel brings along is made: `python -m epoch.compiling.shipping logstore DIRECTORY`."""
