"""Carrying out one action: its target, mouse and keyboard, uploads, scripts that look at or act on one element."""
