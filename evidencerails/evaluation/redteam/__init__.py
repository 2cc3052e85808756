"""Adversarial testing: attacks from the user's own evidence, and what becomes of them (after control stack 20.8)."""
