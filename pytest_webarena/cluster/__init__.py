"""Trials on many machines: who gets which, what comes back, and what the whole run has only once; Ray in one module."""
