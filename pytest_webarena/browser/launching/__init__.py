"""Selection and launch options of browsers: Chromium and its variants, or a Firefox of the system."""
