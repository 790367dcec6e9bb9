"""Words that say nothing of their own in answers. Made by ``scripts/plain_words.py`` from the labelled answers."""

from __future__ import annotations

__all__ = ["PLAIN_WORDS"]

PLAIN_WORDS = frozenset(
    """
    above activity added adding address adds admin ahead allegheny along already amounts anyone applied approved
    approx april area around ascending asked author authored authors away back bad bailey begins behind belong
    belongs below between biggest bill bit bottom bought boxed branch breakdown bring byteblaze came campus
    canceled cancelled car card carry category cents charged chart cheapest checked checking chose clearly
    clicked close closest cmu column compared comparison complain complaint complaints considered contain
    contains contributed cost costs count counted counting cover covers ct currency customers dashboard
    dashboard's date dated dates day dearest descending details different directions disappointed displayed
    displays distance distances dollars done down dr driving e eight eighteen end ends entries entry equal
    everybody everything exact expensive f far february fewer field fifty filter filtered filtering fit five
    followed following follows foot forty four fourteen g gave general gives going got grand graph grid grouped
    handful handling happy he's helps here's higher highest history hit holds ignored included including inside
    international item items jan january keep keeping kept keyword kilometers kilometre kilometres km last later
    leads leaves leaving left let lies like limit list lists located location log long longer looked looking low
    lowest ma mail main makes map map's mar march marked marketing match matches max means meters metres min
    minute minutes mode money month months much n nd near nearest negative neighborhood new newest nine ninety
    node non noted now off often once ones online opened openstreetmap options order ordered orders osrm overall
    owner pair panel part pending pennsylvania people period person picked pit pittsburgh place placed places
    planner plus points poor position positive possible praised priciest primer product profile project purchase
    purchases put qty quantities quantity quarter question range rank ranked ranks rated rating ratings rd reach
    reachable read reading reads recent recently records remaining reorder repo reports repository rest returns
    review reviewed reviewer reviewers reviews right roughly route row rows run s sales saying screen scrolled
    search searched searching section selected sells set seven seventy shares shipping short shorter should side
    single six sixteen sixty size smaller sold sorted sorting st star stars start starting state states status
    stay steps still stop subtotal subtracted summed summing sums support switched table taken takes ten
    terminal text th therefore things thirty three thus tied time took tool top trip turned twenty two typed
    unhappy united university usd use used valkhof visit w waiting want well went widget wikipedia words write
    written wrote year yields you'd you'll you're zero zoomed
    """.split()  # noqa: SIM905 - a list is no easier to read
)
