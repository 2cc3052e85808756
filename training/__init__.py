"""Training of the embedded NLI model and the verdict model (not part of the wheel)."""
