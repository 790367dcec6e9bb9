"""Commands of ``webarena …``, one module each."""
