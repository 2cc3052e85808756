"""Adversarial testing: attacks from the user's own evidence, and what becomes of them."""
