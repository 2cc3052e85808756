"""The sections of the settings, one module each; `groundrails.config` puts them together."""
