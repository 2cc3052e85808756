"""Human review: a durable queue of answers that wait for a person, and what people decided. Needs the extra `store`."""
