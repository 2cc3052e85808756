import pytest
from commands import evidencerails, start_process

__all__ = ["evidencerails", "start_process"]


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that look at values and not at the ends of intervals."""
    for name in ("MOST_RESAMPLES", "LEAST_RESAMPLES"):
        monkeypatch.setattr(f"evidencerails.evaluation.metrics.{name}", 40)
