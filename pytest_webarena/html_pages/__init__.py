"""Pages as HTML text, without a browser: their links, texts, controls, tables and search forms."""
