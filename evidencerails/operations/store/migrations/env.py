"""Where Alembic begins; `evidencerails.operations.store.engine` calls it with an open connection in `attributes`."""

from __future__ import annotations

from alembic import context

from evidencerails.operations.store.models import Base


def _run() -> None:
    connection = context.config.attributes.get("connection")
    if connection is None:  # `alembic -c ... revision --autogenerate` of a developer
        from sqlalchemy import create_engine

        url = context.config.get_main_option("sqlalchemy.url") or "sqlite:///evidencerails.db"
        with create_engine(url).begin() as made:
            context.configure(connection=made, target_metadata=Base.metadata, render_as_batch=True)
            context.run_migrations()
        return
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
    context.run_migrations()


_run()
