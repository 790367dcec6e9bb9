"""Books, paper, pens, toys and games."""

from __future__ import annotations

from pytest_webarena.embedded.shop.goods.model import Leaf, Title, lines, words

__all__ = ["LEAVES"]

_PAPER = words("Quill & Binding, Pagefold, Ropewalk Press")
_TOYS = words("Larch Plank, Rainy Sunday, Tuck & Trot")


def _titles(text: str) -> tuple[Title, ...]:
    rows = [line.split(" | ") for line in lines(text)]
    return tuple(Title(title=title, author=author, genre=genre) for title, author, genre in rows)


LEAVES = (
    Leaf(
        department="Books & Paper", name="Novels", product_class="Book", shape="book",
        blurb="Long ones, for the Wend Line.", price=(9, 26),
        titles=_titles("""
            The Ferryman's Arithmetic | Isolde Marrack | literary
            Salt on the Stair | Petra Ollander | literary
            A Clock for Kelderby | Gwen Tarrant | historical
            The Second Lighthouse | Edmund Raske | mystery
            Murder at the Blue Ewer | Dorothea Pym | crime
            The Lantern Thief | Dorothea Pym | crime
            Death Takes the Bus 12 | Dorothea Pym | crime
            The Quarry Choir | Anselm Voigt | historical
            What the Heron Saw | Ruth Ekdal | literary
            Nine Winters in Lunnet | Ruth Ekdal | literary
            The Glass Orchard | Mirela Costin | fantasy
            Wardens of the Weir | Mirela Costin | fantasy
            The Tin Cartographer | Jory Blackwood | adventure
            North of the Last Pylon | Jory Blackwood | adventure
            The Apothecary of Mill Lane | Sefa Okonjo | historical
            A Small Theory of Rain | Henrik Aubel | literary
            Slow Signals | Tess Varga | science fiction
            The Engine Remembers | Tess Varga | science fiction
            Letters to a Tide Table | Isolde Marrack | romance
            The Baker's Fourth Wish | Coralie Finn | romance
            Under the Rope Roof | Coralie Finn | romance
            The Clerk Who Said No | Bram Oster | humour
            Three Men and a Ferret | Bram Oster | humour
            The House at Slip Two | Edmund Raske | mystery
            The House at Slip Three | Edmund Raske | mystery
            Small Hours, Large Dogs | Bram Oster | humour"""),
        facts={"format": words("paperback, hardback"), "language": words("English"),
               "pages": words("212, 248, 296, 318, 344, 402, 476, 528"),
               "published": words("2019, 2020, 2021, 2022, 2023, 2024, 2025")},
        features=lines("""
            Set over one wet autumn in a town much like ours.
            Told by somebody who is not to be trusted.
            A first novel with the calm of a tenth.
            Long-listed for the Ropewalk Prize.
            With a map on the endpapers."""),
        praise=lines("""
            I could not put it down
            the last chapter made me cry
            wonderfully funny
            the characters stay with you"""),
        complaints=lines("""
            slow to get going
            the ending felt rushed
            too many characters
            I guessed the murderer on page thirty"""),
    ),
    Leaf(
        department="Books & Paper", name="Nature & Travel Books", product_class="Book", shape="book",
        blurb="Read before you go, and again when you are back.", price=(11, 38),
        titles=_titles("""
            Walking the Wend | Sunniva Dale | walking
            Thirty Walks from Railway Stations | Sunniva Dale | walking
            Thirty More Walks from Railway Stations | Sunniva Dale | walking
            Birds of Lake Hallmere | Orla Stenning | nature
            Moths of the Great Forest | Orla Stenning | nature
            A Pocket Guide to Lichens | Linus Brandt | nature
            Seaweeds of the Sall Shore | Anneke Voss | nature
            The Eelgrass Year | Anneke Voss | nature
            Bread Without Hurry | Hanne Kirkeby | cooking
            Cider, Slowly | Lucia Ferrant | cooking
            The Harbour Kitchen | Rafael Montserin | cooking
            Soups for Wet Thursdays | Rafael Montserin | cooking
            The Beekeeper's Twelve Months | Wren Castellane | gardening
            Pruning for the Timid | Ottilie Crane | gardening
            Apples We Nearly Lost | Ottilie Crane | gardening
            Drystone: A Manual | Osric Fell | craft
            The Patient Bookbinder | Ilse Varnholt | craft
            Clocks and How They Stop | Bertram Hale | craft
            Weaving from Wool to Wall | Maeve Tolliver | craft
            Wooden Boats for Beginners | Viktor Halloran | craft
            A Short History of Tarnmark | Leopold Finch | history
            The Railway that Climbed | Tomasz Wilk | history
            Islands by Bicycle | Kofi Asantewa | travel
            Slow Trains North | Felix Adeyinka | travel
            Night Ferries | Felix Adeyinka | travel
            Drawing Rain | Saoirse Quill | craft"""),
        facts={"format": words("paperback, hardback, spiral bound"), "language": words("English"),
               "pages": words("96, 128, 160, 192, 224, 288, 352"),
               "published": words("2018, 2019, 2020, 2021, 2022, 2023, 2024")},
        features=lines("""
            With forty drawings by the author.
            Fits a coat pocket.
            Every walk starts where a train stops.
            Tested by people who had never tried it.
            Printed on paper that takes pencil."""),
        praise=lines("""
            clear and beautifully illustrated
            I use it every weekend
            full of good advice
            written with warmth"""),
        complaints=lines("""
            the maps are too small
            already out of date
            the binding came apart
            not for beginners"""),
    ),
    Leaf(
        department="Books & Paper", name="Notebooks & Diaries", product_class="Stationery", shape="notebook",
        blurb="Sewn, so that they lie flat.",
        nouns=words("Notebook, Sketchbook, Diary, Address Book"), brands=_PAPER,
        series=words("Almanac, Broadside, Colophon, Folio, Ledger, Octavo, Quire, Verso"),
        version="paper_size", versions=words("A6, A5, B5"), price=(6, 38),
        colours=words("blue, rust, sage, ochre, black, plum"), materials=words("linen, leather, card"),
        facts={"ruling": words("plain, lined, dotted, squared"), "pages": words("96, 144, 192, 240")},
        features=lines("""
            Sewn in Corrin Bridge, sixteen pages at a time.
            Ink does not come through.
            A pocket at the back for stamps.
            Two ribbons.
            Numbered pages and an index to fill in."""),
        praise=lines("""
            the paper is a joy
            lies completely flat
            no bleeding with a fountain pen
            sturdy cover"""),
        complaints=lines("""
            the ribbon frays
            thinner than expected
            the cover marks easily
            ink feathers"""),
    ),
    Leaf(
        department="Books & Paper", name="Pens & Ink", product_class="Stationery", shape="pen",
        blurb="For letters that arrive.", option="engraving",
        nouns=words("Fountain Pen, Rollerball Pen, Mechanical Pencil, Brush Pen"), brands=_PAPER,
        series=words("Clerk, Dispatch, Errand, Postmark, Proof, Scribe, Seal"),
        version="nib", versions=words("extra fine, fine, medium, broad"), price=(7, 119),
        colours=words("black, blue, copper, plum"), materials=words("brass, resin, aluminium, glass"),
        facts={"refill": words("cartridge, converter, standard refill"),
               "ink": words("blue-black, sepia, green, none")},
        features=lines("""
            Writes at once, even after a month in a drawer.
            The cap posts with a click.
            Every nib is tried by hand before it leaves.
            Balanced for long letters.
            Can be engraved."""),
        praise=lines("""
            glides over the paper
            never skips
            feels expensive
            a perfect gift"""),
        complaints=lines("""
            leaks on trains
            the nib scratches
            dries out quickly
            lighter than I like"""),
    ),
    Leaf(
        department="Toys & Games", name="Board Games", product_class="Toys", shape="boardgame",
        blurb="Rules on one page, arguments for an evening.",
        nouns=words("Board Game, Card Game, Dice Game"), brands=_TOYS,
        series=words("""
            Beekeepers, Ferry Timetable, Harvest Home, Last Train to Lunnet, Lighthouse, Marketplace,
            Smugglers of Sall, Weavers"""),
        version="edition", versions=words("pocket edition, standard edition, deluxe edition"), price=(9, 62),
        colours=words("red, blue, sage, ochre"), materials=words("card and wood, wood"),
        facts={"players": words("1-4, 2-4, 2-6, 3-5"), "age": words("6+, 8+, 10+, 12+"),
               "duration": words("15 minutes, 30 minutes, 60 minutes, 90 minutes")},
        features=lines("""
            Learned in five minutes.
            Everybody plays until the end.
            Drawn by Saoirse Quill.
            Wooden pieces, no plastic.
            A solo mode for the ferry."""),
        praise=lines("""
            the whole family loves it
            quick to learn
            beautiful pieces
            different every time"""),
        complaints=lines("""
            the rules are unclear
            too long for children
            pieces were missing
            mostly luck"""),
    ),
    Leaf(
        department="Toys & Games", name="Jigsaw Puzzles", product_class="Toys", shape="puzzle",
        blurb="The sky last.",
        nouns=words("Jigsaw Puzzle"), brands=words("Rainy Sunday, Quayside"),
        series=words("""
            Apple Day, Brackwater Harbour, Fallowgate Bandstand, Hallmere at Dawn, Lantern Fair,
            Mossfold Flock, Steam at Hollin Cross, Wendgate in Snow"""),
        version="pieces", versions=words("250 pieces, 500 pieces, 1000 pieces"), price=(11, 32),
        colours=words("blue, rust, sage, ochre"), materials=words("card, wood"),
        facts={"age": words("6+, 8+, 12+"), "finished_size": words("34 x 24 cm, 48 x 34 cm, 68 x 48 cm")},
        features=lines("""
            Cut so that every piece clicks.
            Linen finish, no glare.
            Comes with a print of the picture.
            A bag instead of a box in a bag.
            From a painting in the museum at Aldersey."""),
        praise=lines("""
            pieces fit perfectly
            a lovely picture
            kept us busy for days
            good thick card"""),
        complaints=lines("""
            a piece was missing
            too much sky
            the cut is too regular
            dusty"""),
    ),
    Leaf(
        department="Toys & Games", name="Wooden Toys", product_class="Toys", shape="blocks",
        blurb="Turned, sanded and chewed.",
        nouns=words("Building Blocks, Pull-along Duck, Train Set, Spinning Top, Stacking Rings"), brands=_TOYS,
        series=words("Acorn, Conker, Hedgehog, Squirrel, Thimble, Toadstool"),
        version="size_label", versions=words("small, medium, large"), price=(8, 68),
        colours=words("red, blue, sage, ochre, natural"), materials=words("beech, maple, larch"),
        facts={"age": words("6 months+, 1+, 2+, 3+"), "paint": words("water-based, unpainted")},
        features=lines("""
            Edges rounded by hand.
            Paint that may be licked.
            Off-cuts from the boatyard at Gorsehythe.
            Made to be handed down.
            Comes in a cotton bag."""),
        praise=lines("""
            our daughter adores it
            very well made
            no sharp edges
            a present for generations"""),
        complaints=lines("""
            the paint chips
            smaller than it looks
            a wheel came off
            smells of varnish"""),
    ),
)  # fmt: skip
