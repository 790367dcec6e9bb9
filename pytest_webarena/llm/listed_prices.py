"""Prices that the package ``genai-prices`` keeps (extra ``prices``): as installed, for nothing is fetched.

It knows providers by the addresses of their endpoints. By these alone it is asked: a model of the same name behind
another address, such as a server of one's own, has another price, and nobody here knows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pytest_webarena.evidence.usage import MOST, Usage

__all__ = ["ListedPrice", "listed_price"]


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """What a model costs at an endpoint; some change with the length of the prompt."""

    url: str
    model: str

    def of(self, usage: Usage) -> float | None:
        """What these tokens cost, in US dollars; None where the package can't tell."""
        import genai_prices

        told = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cached_input_tokens,
            output_tokens=usage.output_tokens,
        )
        try:
            found = genai_prices.calc_price(told, self.model, provider_api_url=self.url)
            dollars = float(found.total_price)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None
        # A model without a price for some kind of token would be free there.
        return min(dollars, float(MOST)) if dollars > 0 else None


@cache
def listed_price(url: str, model: str) -> ListedPrice | None:
    """The price of ``model`` at ``url``; None where the package has none, or is not installed."""
    if not url or not model:
        return None
    try:
        import genai_prices  # noqa: F401
    except ImportError:
        return None
    price = ListedPrice(url, model)
    both = [price.of(usage) for usage in (Usage(input_tokens=1000), Usage(output_tokens=1000))]
    return price if None not in both else None
