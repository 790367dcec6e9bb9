"""Words that may be next to an answer and change nothing about it: a closed list. Others are not understood.

Words of the question are understood too, but for those that would turn, doubt or double what they are next to.
"""

from __future__ import annotations

import functools
import re

__all__ = [
    "ASKING",
    "CHANGES",
    "DOUBTS",
    "GIVING",
    "HAZARDS",
    "MATHEMATICS",
    "QUANTITIES",
    "STATING",
    "is_known",
    "not_understood",
    "word_set",
    "words_in",
    "words_of_question",
]


def word_set(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


STATING = word_set(
    """
    a an the this that these it its it's i i'm i'd i've we my our there here which what is are was be been being
    am have would should must will so thus hence therefore then now finally consequently accordingly ok okay
    well yes indeed let's see conclude think believe say choose pick select go goes confident certain sure quite
    very definitely clearly certainly surely obviously simply just only exactly final answer answers correct
    right true required option choice letter one most likely best
    get gives find found obtain of in at to for on by from with namely ie i.e
    that's given
    """
)
"""What an answer of any kind is said with."""
GIVING = word_set(
    """
    he she her his has had having do does did can let equal equals equaled equalled give gives gave giving get
    gets got getting obtain obtains obtained find finds found yield yields come comes came work works worked
    turn turns amount amounts make makes lead leads result results resulting add adds added sum sums round
    rounds rounded evaluate evaluates simplify simplifies reduce reduces compute computed calculate calculated
    determine determined estimate estimated estimates need needs needed take takes taken hold holds held cost
    costs weigh weighs last lasts measure measures measured read reads show shows shown write writes written
    express expressed expresses denote denoted going travel travels travelled move moves moved ride rides rise
    rises fall falls fell drop drops reach reaches reached stand stands pay pays paid earn earns contain
    contains use uses used require requires follow follows done approximate est fairly merely precisely about
    approximately approx roughly around circa ca value values them those exact desired requested wanted sought
    asked corresponding overall altogether total net average mean typical expected following number numbers
    numeric numerical quantity magnitude size figure figures count solution into onto stated different distinct
    possible unique ways way unit units si decimal decimals form significant places place sf dp digits digit
    precision accuracy
    """
)
"""What numbers are said with."""
QUANTITIES = word_set(
    """
    acceleration activity age altitude amount amplitude angle answer area atoms average base bond breadth capacitance
    capacity  charge chance circumference coefficient concentration conductance conductivity constant cost count
    current curvature deceleration degree density depth derivative determinant  diameter  diffusivity
    digit dimension discount displacement distance duration efficiency eigenvalue elasticity elevation emf emissivity
    energy enthalpy entropy equilibrium expectation exponent extension factor field flow flux focal force fraction
    frequency  gap gradient growth half-life heat height hypotenuse impedance impulse income  index
    inductance inertia integral intensity intercept interest interval kinetic latent length level lifetime limit load
     luminosity magnification mass maturity mean median mode modulus molarity moles moment momentum multiplicity
    mobility norm number odds order osmolarity output overpotential parallax payment percent percentage perimeter period
    permeability permittivity ph phase pitch pka population position potential power present pressure price principal
    probability product profit proportion quantity quotient radius range rank rate ratio reactance redshift refractive
    resistance resistivity result return revenue root roots rotation share  side size slope solubility
    solution spacing specific speed spread spring stiffness strain strength stress sum surface susceptibility tax
    temperature tension term thickness threshold thrust time torque total trace transmittance value variable variance
    velocity viscosity voltage volume wage wavelength wavenumber weight width work workfunction yield
    electric magnetic gravitational thermal mechanical angular linear initial terminal equivalent effective orbital
    critical resulting standard horizontal vertical radial tangential escape molar relative absolute internal external
    system particle body object
    """
)
"""What has a value: ``a speed of 5`` is 5, ``the log of 5`` is not."""
CHANGES = word_set("change difference increase decrease gain loss rise drop fall shift deviation growth")
"""What has a value that is not the one asked for, unless the question speaks of it."""
_COUNTED = word_set(
    """
    apples arrangements arrays atoms balls bits books bytes cells cents choices coins combinations components cycles
    customers dollars edges electrons elements eigenvalues euros eur usd gbp pounds faces functions graphs groups ions
    items molecules moles neutrons nodes objects orders orderings oscillations outcomes pages pairings particles paths
    people permutations persons photons pieces points possibilities primes protons revolutions roots routes samples
    seatings sequences solutions states steps students subsets subgroups terms tiles trees trials turns values
    vertices votes words cakes workers zeros real integer integers complex positive rational
    """
)
_BESIDE = word_set(
    """
    along down downhill uphill parallel perpendicular such together new you your remain remains
    north south east west northward southward eastward westward left right upward upwards downward downwards forward
    forwards backward backwards inward inwards outward outwards toward towards away direction clockwise counterclockwise
    anticlockwise directed center centre axis ground surface floor high tall long wide deep thick old far clock
    """
)
DOUBTS = word_set(
    """
    no not nor neither never none nobody nothing hardly barely scarcely cannot without non unlike
    maybe perhaps possibly might may could probably unless if whether doubt doubts guess unsure uncertain
    unclear suppose supposedly allegedly were
    or either else instead rather alternatively otherwise than but except excluding besides apart and/or versus vs
    wrong false falsely incorrect mistaken mistake mistakes invalid untrue lie lies lying absurd impossible refuse
    refused refuses refuted fails failed fail contradicts contradiction contradictory disagree disproved denies deny
    """
)
"""What denies or doubts what is said in the same text, or offers something else."""
HAZARDS = DOUBTS | word_set(
    """
    twice half double doubled triple thrice plus minus more less fewer greater smaller larger bigger higher lower
    faster slower longer shorter below above under over beyond upwards onwards onward each every per another
    other others several any some again also too and as nearly almost opposite negative negation inverse reciprocal
    complement
    """
)
"""These, and what turns or doubles what it is next to."""
MATHEMATICS = word_set(
    """
    alpha beta gamma delta epsilon zeta eta theta kappa lambda nu xi rho sigma tau upsilon phi chi psi omega hbar varphi
    varepsilon ell langle rangle det tr dim deg rank int oint iint sum prod lim max min sup inf arg re im mod gcd lcm
    binom dx dy dt exp ln log sin cos tan to infty
    """
)
"""What formulas name, beside letters."""
_KNOWN = STATING | GIVING | QUANTITIES | _COUNTED | _BESIDE | {"rightwards"}
_TURNING = word_set(
    """
    left leftward leftwards rightwards up down upward upwards downward downwards uphill downhill inward inwards outward
    outwards forward forwards backward backwards north south east west northward southward eastward westward toward
    towards away clockwise counterclockwise anticlockwise rise rises fall falls fell drop drops
    """
)
"""One of two opposites: beside a number with a sign it may say the opposite of it."""
_DOWN = word_set("down downward downwards toward towards")
_FALLING = ("gravit", "weigh", "fall")
"""Beginnings of words of what is always directed downward."""
_SIZES = word_set("speed fast magnitud siz distanc far high height tall deep depth")
"""Stems of what has no sign, so that a direction turns nothing."""
ASKING = word_set("how much many what which is are it the find give")
"""Of a question that speaks of nothing."""
_RIGHTWARD = re.compile(r"\bto\s+the\s+right\b|\brightwards?\b", re.IGNORECASE)
_PHRASES = re.compile(
    r"\b(?:(?:works?|worked|comes?|came|turns?|turned)\s+out|(?:adds?|sums?|rounds?|rounded|rounding)\s+up)\b",
    re.IGNORECASE,
)
"""Words that only together are known."""
_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019.][^\W\d_]+)*")


def words_in(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return [found[0].lower().replace("\u2019", "'") for found in _WORD.finditer(text)]


@functools.lru_cache(maxsize=256)
def words_of_question(question: str) -> frozenset[str]:
    """What a question makes known: the stems of its words."""
    said = {part for word in words_in(question[:20_000]) for part in (word, *word.split("-"))}
    return frozenset(_stem(word) for word in said if word not in HAZARDS and not word.endswith("n't") and len(word) > 1)


def is_known(word: str, asked: frozenset[str] = frozenset(), said: frozenset[str] = _KNOWN) -> bool:
    """Whether a word, in lower case, is one of the list or of the question."""
    if word in _TURNING and not _directed(word, asked):
        return False
    if word in said or (word not in HAZARDS and _stem(word) in asked):
        return True
    parts = word.split("-")
    if len(parts) > 1:
        return all(part and is_known(part, asked, said) for part in parts)
    if word.endswith("'s"):
        return is_known(word[:-2], asked, said)
    return word not in HAZARDS | {"times"} and len(word) > 3 and word.endswith("s") and word[:-1] in said


def _directed(word: str, asked: frozenset[str]) -> bool:
    """Whether a direction says nothing against the question: it says so itself, asks for a size, or says nothing."""
    if asked <= ASKING or not asked.isdisjoint(_SIZES):
        return True
    if word in _DOWN and any(stem.startswith(_FALLING) for stem in asked):
        return True
    root = _stem("fall" if word == "fell" else word)
    plain = root.removesuffix("ward").removesuffix("hill")
    ways = {root} | ({plain, f"{plain}ward"} if len(plain) > 3 or plain == "up" else set())
    return any(stem in ways or (len(root) > 3 and stem.startswith(root)) for stem in asked)


def not_understood(text: str, asked: frozenset[str], said: frozenset[str] = _KNOWN) -> list[str]:
    """The words of a text that are not known, and letters that stand alone."""
    text = _PHRASES.sub(" ", text)
    words = words_in(_RIGHTWARD.sub("rightwards", text) if said is _KNOWN else text)
    return [word for word in words if not is_known(word, asked, said) or (len(word) == 1 and word not in "ai")]


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    for ending in ("ions", "ion", "ing", "ies", "es", "ed", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
