from commands import evidencerails, process
from parsed_once import colang_is_parsed_once

__all__ = ["colang_is_parsed_once", "evidencerails", "process"]
