"""The first tables: those of the models, as long as no release has fixed them. Then this file has to spell them out."""

from __future__ import annotations

from alembic import op

from evidencerails.operations.store.models import Base

revision, down_revision = "0001", None


def upgrade() -> None:
    Base.metadata.create_all(op.get_bind())
