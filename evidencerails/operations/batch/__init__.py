"""Checking files of many answers: readers, the job that can be killed and resumed, and its engines."""
