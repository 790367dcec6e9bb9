"""Prices from the installed package ``genai-prices`` (extra ``prices``); nothing is fetched.

The package is queried only by the endpoint's address. The same model behind another address, such as a private server,
has another price, which is unknown here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pytest_webarena.evidence.usage import MOST, Usage

__all__ = ["ListedPrice", "listed_price"]


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """The price of a model at an endpoint; some prices depend on the length of the prompt."""

    url: str
    model: str

    def of(self, usage: Usage) -> float | None:
        """Return the cost of these tokens in US dollars; None where the package does not know it."""
        import genai_prices

        counts = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cached_input_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cache_write_1h_tokens=usage.cache_write_1h_tokens,
            output_tokens=usage.output_tokens,
        )
        try:
            found = genai_prices.calc_price(counts, self.model, provider_api_url=self.url)
            dollars = float(found.total_price)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None
        # 0 means that the package has no price for this kind of token, not that it is free.
        return min(dollars, float(MOST)) if dollars > 0 else None


@cache
def listed_price(url: str, model: str) -> ListedPrice | None:
    """Return the price of ``model`` at ``url``; None where the package has none or is not installed."""
    if not url or not model:
        return None
    try:
        import genai_prices  # noqa: F401
    except ImportError:
        return None
    price = ListedPrice(url, model)
    amounts = [price.of(usage) for usage in (Usage(input_tokens=1000), Usage(output_tokens=1000))]
    return price if None not in amounts else None
