"""Validates task files and catalogues on running sites: what would fail in a trial, as problems with their lines."""
