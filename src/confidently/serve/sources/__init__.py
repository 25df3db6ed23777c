"""Where rows come from other than over HTTP: files that grow, pipes, Kafka, the demonstration."""
