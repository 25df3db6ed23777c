"""Several learners on different views of the same rows, and the mixture of what they say."""
