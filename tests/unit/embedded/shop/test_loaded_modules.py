"""Modules that a running store loads."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

from pytest_webarena.embedded import shop

LOADED = """
import sys
from pathlib import Path
from pytest_webarena.embedded import shop
shop.create_app(Path(sys.argv[1]))
import babel.core
print([name for name in ("geopy", "requests", "django.contrib.postgres") if name in sys.modules])
print(babel.core._global_data)
"""


def test_warm_store_has_not_loaded_unused_modules(tmp_path: Path) -> None:
    shop.seed(tmp_path)

    done = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], check=True, capture_output=True, text=True)

    assert done.stdout == "[]\nNone\n"


def test_currency_format_equals_babel(owner: object) -> None:
    from babel.numbers import format_currency  # part of the store's extra, like these
    from django.conf import settings
    from oscar.templatetags.currency_filters import currency

    values = [Decimal(text) for text in ("0", "-0.004", "0.005", "0.015", "-1234.565", "1E+9", "999.995", "12.5")]
    values += [Decimal(number**3 - 10**7) / 1000 for number in range(300)]
    terms = {"currency": settings.OSCAR_DEFAULT_CURRENCY, "format": settings.OSCAR_CURRENCY_FORMAT, "locale": "en_GB"}
    assert [currency(value) for value in values] == [format_currency(value, **terms) for value in values]
