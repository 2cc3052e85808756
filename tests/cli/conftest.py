from commands import evidencerails, process, start_process

__all__ = ["evidencerails", "process", "start_process"]
