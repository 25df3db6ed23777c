"""The threads that write the log and that learn, and the requests that travel between them."""
