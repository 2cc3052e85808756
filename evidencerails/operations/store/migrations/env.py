"""Where Alembic begins; `evidencerails.operations.store.engine` calls it with an open connection in `attributes`."""

from __future__ import annotations

from alembic import context

from evidencerails.operations.store.models import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
context.run_migrations()
