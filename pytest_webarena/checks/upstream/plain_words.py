"""Words that say nothing of their own in answers. Made by ``scripts/plain_words.py`` from the labelled answers."""

from __future__ import annotations

__all__ = ["PLAIN_WORDS"]

PLAIN_WORDS = frozenset(
    """
    activity added adding address adds admin ahead allegheny along already amounts anyone appears applied approved
    approx april area around ascending asked author authored authors back bad bailey begins behind belong belongs
    below between bill bit bought boxed branch breakdown bring byteblaze came campus cancelled car card category
    cents charged chart cheapest checked checking chose clearly clicked close closest cmu column compared comparison
    complain complaints contain contains contributed cost costs count counted counting cover currency customers
    dashboard dashboard's date dated dates day dearest descending details different directions disappointed
    displayed displays distance distances dollars done down dr driving e eight eighteen email end ends entries entry
    everybody everything exact expensive f far february few field fifty filter filtered filtering five followed
    following follows foot forty four fourteen g general gives going got grand graph grid grouped handful handling
    he's helps here's highest history hit holds ignored included including international item items jan january keep
    keeping keyword kilometers kilometre kilometres km last later leads leaves leaving left let lies like list lists
    located location log long longer looked looking low lowest mail main makes map map's mar march marked marketing
    match matches max means meters metres min minute minutes mode money month months much n nd near nearest negative
    neighborhood new newest nine ninety node non now off often once ones online opened options order ordered orders
    osrm overall owner pair part pending pennsylvania people period person picked pittsburgh place placed places
    planner points poor position positive possible praised priciest primer product products profile purchase
    purchases qty quantities quantity question range rank ranked ranks rated rating ratings rd reach reachable read
    reading reads recent recently records remaining reorder repo report reports repository rest returns review
    reviewed reviewer reviewers reviews right roughly route row rows run s sales saying screen scrolled search
    searched searching section selected sells set seven seventy shares shipping short shorter should side single six
    sixteen sixty size smaller sold sorted sorting st star stars start starting state states status stay steps still
    stop subtotal subtracted such summed summing sums support switched taken takes ten terminal text th therefore
    thirty three tied time took tool top trip turned twenty two typed unhappy united usd use used valkhof visit w
    waiting want well went widget write written year yields you'd you'll you're zero
    """.split()  # noqa: SIM905 - a list is no easier to read
)
