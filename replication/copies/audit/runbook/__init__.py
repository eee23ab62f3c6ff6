"""What to do after an incident, step by step: the same for the text, the page and JSON. Nothing of it is done here."""
