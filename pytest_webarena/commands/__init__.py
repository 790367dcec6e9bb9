"""Everything behind ``webarena …``: what is no test run."""
