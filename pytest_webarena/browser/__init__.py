"""The browser room: one browser per worker, one session per trial; observation and action execution."""
