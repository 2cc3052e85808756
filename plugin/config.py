"""What NeMo runs when it loads the import path `groundrails/plugin`; the work is in `adapters/nemo_init.py`."""

from groundrails.adapters.nemo_init import init

__all__ = ["init"]
