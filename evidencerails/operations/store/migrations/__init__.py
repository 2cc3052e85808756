"""Alembic's folder: one file a change of the tables."""
