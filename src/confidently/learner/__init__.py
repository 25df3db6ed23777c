"""Numbers in, beliefs out: the learner, its posterior and what feeds it rows."""
