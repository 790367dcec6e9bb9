"""Execution of one action: its target, mouse and keyboard, uploads, and scripts that examine or change one element."""
