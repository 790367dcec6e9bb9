"""Words that say nothing of their own in answers. Made by ``scripts/plain_words.py`` from the labelled answers."""

from __future__ import annotations

__all__ = ["PLAIN_WORDS"]

PLAIN_WORDS = frozenset(
    """
    added adding address adds admin ahead allegheny along already amounts approved approx april around ascending
    asked author authored back behind belong belongs below between bill both bought breakdown bring byteblaze came
    campus cancelled car category cents cheapest checked checking chose clicked close closest cmu column compared
    complain complaints contain contains contributed cost costs count counted counting cover currency dashboard's
    date dated dates day descending different directions disappointed displays distance dollars done down dr e eight
    eighteen email end ends entries entry every everything expensive f far february fifty filter filtered filtering
    five followed following follows foot forty four fourteen gave give gives going got grand graph grid half
    handling higher highest history holds hundred included including international item items january keep keeping
    keyword kilometers kilometres km last leads leaves left let lies like limit list lists located long looked
    looking low lowest made mail makes map map's mar march marked marketing match max means meters metres min minute
    minutes mode money month months much n nd near nearer nearest negative neighborhood new newest nine ninety non
    now off often once ones online opened order orders osrm overall pair pending pennsylvania people period person
    picked pittsburgh place placed poor positive praised priciest primer product products profile purchase purchases
    qty quantities quantity range rank ranks rated rating ratings rd reach reachable read reads recent recently
    records remaining report reports repository rest returns review reviewed reviewer reviewers reviews right
    roughly route row rows run s sales saying scrolled search searched searching selected sells set seven seventy
    share shipping shop shorter should single six sixteen sixty size sold sorted sorting st star stars start state
    states status stay stop subtotal such summed sums support takes ten terminal th thirty three tied times took top
    trip twenty twice two unhappy united usd use used valkhof visit w waiting well went whole widget written year
    you'd you'll you're zero
    """.split()  # noqa: SIM905 - a list is no easier to read
)
