"""Carrying out one action: finding its target, mouse and keys, uploads, the scripts that run on one element."""
