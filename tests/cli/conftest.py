from commands import evidencerails, process, start_process
from parsed_once import colang_is_parsed_once

__all__ = ["colang_is_parsed_once", "evidencerails", "process", "start_process"]
