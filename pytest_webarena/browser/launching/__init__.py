"""Which browser is started, and how: Chromium and its kin, or a Firefox of the system."""
