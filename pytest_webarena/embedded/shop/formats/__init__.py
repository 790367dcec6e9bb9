"""How dates look and may be typed."""
