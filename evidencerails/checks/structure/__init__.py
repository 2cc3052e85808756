"""The structure check: JSON answers against the schema that the app gives.

In: an exchange with a schema. Out: findings. Start at `check`."""
