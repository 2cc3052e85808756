"""The sections of the settings, one module each; `evidencerails.config` puts them together."""
