"""The steps of an audit, whoever carries them out: what is examined, how its rows are judged, and the document."""
