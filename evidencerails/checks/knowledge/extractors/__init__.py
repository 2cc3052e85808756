"""What in a text names something that must exist: one file a kind."""
