"""What NeMo runs when it loads the import path `evidencerails/plugin`; the work is in `adapters/nemo_init.py`."""

from evidencerails.adapters.nemo_init import init

__all__ = ["init"]
