"""How dates look and may be typed, in English."""
