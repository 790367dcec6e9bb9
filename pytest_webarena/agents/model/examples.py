"""The two worked examples of the baselines' prompts: invented pages in the form that agents see."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_webarena.answers import AnswerFormat

__all__ = ["EXAMPLES", "Example", "examples"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One page, one task, and the expected thought and action."""

    observation: str
    url: str
    objective: str
    previous_action: str
    thought: str
    action: str


EXAMPLES: tuple[Example, ...] = (
    Example(
        observation=(
            "Tab 0 (current): Garden Chairs - Outdoor Furniture\n\n"
            "[210] RootWebArea 'Garden Chairs - Outdoor Furniture' focused: True\n"
            "\t[215] link 'My Account'\n"
            "\t[233] heading 'Garden Chairs'\n"
            "\t[240] link 'Folding Chair, Green'\n"
            "\t\t[241] StaticText '$24.50'\n"
            "\t\t[243] StaticText '12 reviews'\n"
            "\t[246] button 'Add to Cart'\n"
            "\t[251] link 'Folding Chair, Red'\n"
            "\t\t[252] StaticText '$27.00'"
        ),
        url="http://onestopmarket.com/outdoor/chairs.html",
        objective="What does the green folding chair cost?",
        previous_action="click [188] where [188] is link 'Outdoor Furniture'",
        thought=(
            "I have to find the price of the green folding chair. The page lists it as element 240, and the text "
            "below it says $24.50. That is all the task asks for, so I stop with this answer."
        ),
        action="stop [$24.50]",
    ),
    Example(
        observation=(
            "Tab 0 (current): OpenStreetMap\n\n"
            "[31] RootWebArea 'OpenStreetMap' focused: True\n"
            "\t[38] button 'Show Layers'\n"
            "\t[44] textbox 'Search' focused: True required: False\n"
            "\t[46] button 'Go'\n"
            "\t[49] link 'Find directions between two points'\n"
            "\t[57] heading 'Search Results'"
        ),
        url="http://openstreetmap.org",
        objective="Show me the pharmacies near the main station of Lyon",
        previous_action="None",
        thought=(
            "The objective is to show pharmacies near a place. There is a search field, element 44, and nothing has "
            "been searched for yet. I type what I am looking for and press Enter to send it."
        ),
        action="type [44] [pharmacies near Lyon Part-Dieu station] [1]",
    ),
)

_TYPED = '{"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [24.50], "error_details": null}'


def examples(answers: AnswerFormat) -> tuple[Example, ...]:
    """The examples for tasks with this answer format."""
    if answers == "text":
        return EXAMPLES
    return (replace(EXAMPLES[0], action=f"stop [{_TYPED}]"), *EXAMPLES[1:])
