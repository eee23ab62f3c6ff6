"""What an audit means for somebody who has to decide now: what is at stake, in sentences, and what to do next."""
