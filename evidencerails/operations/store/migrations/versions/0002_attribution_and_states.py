"""The parts of attribution and the retrieval quality of a report; the configuration that a change led to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("reports", schema=None) as batch_op:
        for name in ("attribution_existence", "attribution_accuracy", "attribution_entailment", "retrieval_quality"):
            batch_op.add_column(sa.Column(name, sa.Float(precision=53), nullable=True))
    with op.batch_alter_table("changes", schema=None) as batch_op:
        batch_op.add_column(sa.Column("state", sa.Text(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("changes", schema=None) as batch_op:
        batch_op.drop_column("state")
    with op.batch_alter_table("reports", schema=None) as batch_op:
        for name in ("retrieval_quality", "attribution_entailment", "attribution_accuracy", "attribution_existence"):
            batch_op.drop_column(name)
