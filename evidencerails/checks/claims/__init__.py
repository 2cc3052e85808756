"""The claims check: claims out of an answer, classified by a model or offline, with kinds of error.

In: an exchange. Out: claims and findings. Start at `check`."""
