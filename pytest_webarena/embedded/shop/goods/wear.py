"""Clothing, and what the pantry holds."""

from __future__ import annotations

from pytest_webarena.embedded.shop.goods.model import Leaf, lines, words

__all__ = ["LEAVES"]

_WEAR = words("Mossfold Mill, Gorsehythe Oilskins, Tolliver, Drover & Daughter")
_SIZES = words("S, M, L, XL")

LEAVES = (
    Leaf(
        department="Clothing", name="Jumpers & Cardigans", product_class="Clothing", shape="jumper",
        blurb="Wool that has seen weather.", variants=True,
        nouns=words("Crew-neck Jumper, Roll-neck Jumper, Cardigan"), brands=_WEAR,
        series=words("Cable, Fair Isle, Gansey, Herdwick, Marl, Moss Stitch, Ribbed, Shetland"),
        version="size", versions=_SIZES, price=(54, 149),
        colours=words("blue, sage, rust, cream, ochre, plum"), materials=words("lambswool, merino wool, cotton"),
        facts={"fit": words("slim, regular, loose"), "care": words("hand wash, wool cycle"),
               "for_whom": words("women, men, everyone")},
        features=lines("""
            Knitted in one piece, without side seams.
            Elbows that can be darned.
            From sheep you can visit in August.
            Warm when wet.
            Spare yarn in the pocket."""),
        praise=lines("""
            warm and not scratchy
            fits true to size
            beautifully knitted
            holds its shape after washing"""),
        complaints=lines("""
            shrank in the wash
            runs large
            itchy at the neck
            pills under the arms"""),
    ),
    Leaf(
        department="Clothing", name="Shirts", product_class="Clothing", shape="shirt",
        blurb="Flannel, linen and one good white one.", variants=True,
        nouns=words("Flannel Shirt, Linen Shirt, Work Shirt, T-shirt"), brands=_WEAR,
        series=words("Chalk, Ferry, Hatch, Millhand, Regatta, Slate, Tally, Wharf"),
        version="size", versions=_SIZES, price=(22, 79),
        colours=words("white, blue, rust, sage, black"), materials=words("cotton, linen, flannel"),
        facts={"fit": words("slim, regular, loose"), "care": words("wash at 30 °C, wash at 40 °C"),
               "for_whom": words("women, men, everyone")},
        features=lines("""
            Buttons of horn, sewn on to stay.
            Long enough to stay tucked in.
            A pocket that takes a notebook.
            Needs no ironing if you hang it.
            Pre-washed, so it will not shrink."""),
        praise=lines("""
            soft from the first day
            fits perfectly
            the fabric is substantial
            my favourite shirt"""),
        complaints=lines("""
            a button came off
            sleeves are too long
            creases badly
            the colour faded"""),
    ),
    Leaf(
        department="Clothing", name="Waterproofs", product_class="Clothing", shape="jacket",
        blurb="Made on the island, for sideways rain.", variants=True,
        nouns=words("Rain Jacket, Waxed Jacket, Oilskin Smock, Windbreaker"),
        brands=words("Gorsehythe Oilskins, Cairnway, Harrow & Pike"),
        series=words("Breaker, Gale, Headland, Mizzle, Squall, Storm, Tideline"),
        version="size", versions=_SIZES, price=(79, 299),
        colours=words("ochre, blue, sage, black, rust"), materials=words("waxed cotton, recycled polyester, oilskin"),
        facts={"water_column": ("5,000 mm", "10,000 mm", "20,000 mm"), "hood": words("fixed, removable, none"),
               "for_whom": words("women, men, everyone")},
        features=lines("""
            A hood that turns with your head.
            Re-waxed free of charge each autumn.
            Pockets at the height of a hip belt.
            Zips from below as well.
            Tested on the Sall Ferry in February."""),
        praise=lines("""
            bone dry after three hours of rain
            great hood
            very well made
            breathes well uphill"""),
        complaints=lines("""
            leaks at the shoulders
            the zip is stiff
            smells of wax
            sleeves come up short"""),
    ),
    Leaf(
        department="Clothing", name="Boots & Shoes", product_class="Clothing", shape="boot",
        blurb="Resoled, not replaced.", variants=True,
        nouns=words("Walking Boots, Chelsea Boots, Work Shoes, Wellingtons"),
        brands=words("Fellmark, Drover & Daughter, Quarryman"),
        series=words("Bellwether, Cobble, Drystone, Furrow, Hobnail, Scree, Stile"),
        version="size", versions=words("38, 40, 42, 44"), price=(59, 219),
        colours=words("walnut, black, sage, rust"), materials=words("leather, suede, rubber, waxed canvas"),
        facts={"sole": words("rubber, commando, leather"), "waterproof": words("yes, no")},
        features=lines("""
            Stitched, so it can be resoled.
            A tongue that keeps grit out.
            Broad in the toe.
            Broken in after a week of dog walks.
            Comes with spare laces."""),
        praise=lines("""
            comfortable from the first mile
            grips on wet slate
            good leather
            well worth the price"""),
        complaints=lines("""
            gave me blisters
            half a size too small
            the sole came off
            let water in"""),
    ),
    Leaf(
        department="Clothing", name="Hats, Scarves & Gloves", product_class="Clothing", shape="hat",
        blurb="For the ends of you.",
        nouns=words("Beanie, Scarf, Gloves, Flat Cap"), brands=_WEAR,
        series=words("Bonfire, Frost, Hoar, Lambing, Rime, Sleet, Snowdrop"),
        version="colour", versions=words("rust, blue, sage, plum"), price=(14, 52),
        colours=(), materials=words("lambswool, merino wool, tweed, fleece"),
        facts={"fits": words("one size, 56 to 58 cm, 58 to 60 cm"), "lined": words("yes, no")},
        features=lines("""
            Lined with fleece where it matters.
            Fingertips that work on a telephone.
            Long enough to go round twice.
            Woven, not printed.
            Folds into a pocket."""),
        praise=lines("""
            so warm
            lovely colour
            soft on the ears
            a perfect present"""),
        complaints=lines("""
            too tight
            slides over my eyes
            lost its shape
            itchy"""),
    ),
    Leaf(
        department="Clothing", name="Socks", product_class="Clothing", shape="sock",
        blurb="You can tell a shop by them.", variants=True,
        nouns=words("Walking Socks, Everyday Socks, Boot Socks"), brands=_WEAR,
        series=words("Boot Room, Cinder Path, Ditch, Hedge, Meadow, Towpath"),
        version="size", versions=words("36-40, 41-45"), price=(8, 28),
        colours=words("blue, rust, sage, ochre, black"), materials=words("merino wool, cotton, wool blend"),
        facts={"pack": words("1 pair, 3 pairs"), "cushioned": words("yes, no")},
        features=lines("""
            Darned for nothing if you bring them in washed.
            Toes closed by hand.
            Stay up without cutting in.
            Thick under the heel.
            Left and right differ."""),
        praise=lines("""
            no blisters
            stay up all day
            very soft
            still no holes"""),
        complaints=lines("""
            a hole after two weeks
            too thin
            slide down
            smaller after washing"""),
    ),
    Leaf(
        department="Pantry", name="Tea", product_class="Food & drink", shape="teatin",
        blurb="Loose, because leaves need room.",
        nouns=words("Black Tea, Green Tea, Herbal Tea"), brands=words("Wendgate Tea, Heather & Honey"),
        series=words("Bandstand, Choir, Ferryman, Half Past Four, Library, Night Train, Quarry, Saddler"),
        version="net_weight", versions=words("50 g, 100 g, 250 g"), price=(5, 24),
        colours=words("sage, rust, blue, ochre"), materials=words("tin, paper bag"),
        facts={"caffeine": words("none, low, full"), "organic": words("yes, no"),
               "steep": words("2 minutes, 3 minutes, 5 minutes")},
        features=lines("""
            Blended at the back of our shop.
            Malty, with a little smoke.
            Bright enough for breakfast, mild enough for four o'clock.
            Takes milk well.
            The tin is refilled at the counter."""),
        praise=lines("""
            wonderful aroma
            a proper strong cup
            fresh every time
            my new favourite"""),
        complaints=lines("""
            rather weak
            dusty at the bottom
            too smoky for me
            pricey for the amount"""),
    ),
    Leaf(
        department="Pantry", name="Coffee", product_class="Food & drink", shape="coffeebag",
        blurb="Roasted on Tuesdays.", option="grind",
        nouns=words("Filter Roast, Espresso Roast, Decaf"), brands=words("Blue Ewer, Signal Box Roasters"),
        series=words("Coal Wharf, Dawn Shift, First Bell, Lamplighter, Milk Float, Points, Quiet Carriage"),
        version="net_weight", versions=words("250 g, 500 g, 1 kg"), price=(8, 34),
        colours=words("blue, rust, black, cream"), materials=words("paper bag"),
        facts={"roast": words("light, medium, dark"), "organic": words("yes, no"),
               "notes": words("chocolate and hazelnut, red fruit, caramel and orange, cedar and plum")},
        features=lines("""
            Roasted in small drums behind the station.
            Best after a week of rest.
            Traded directly with two farms.
            Ground to your taste when we pack it.
            A valve keeps it fresh for three months."""),
        praise=lines("""
            smooth and full
            smells heavenly
            freshly roasted
            great crema"""),
        complaints=lines("""
            too bitter
            roasted too dark
            stale on arrival
            sour in my machine"""),
    ),
    Leaf(
        department="Pantry", name="Honey & Preserves", product_class="Food & drink", shape="jar",
        blurb="Summer with a lid on.",
        nouns=words("Heather Honey, Blossom Honey, Strawberry Jam, Plum Jam, Marmalade, Apple Butter"),
        brands=words("Castellane Hives, Crane Orchard, Merrow"),
        series=words("Early, Farmhouse, Hilltop, Late Summer, Reserve"),
        version="net_weight", versions=words("125 g, 250 g, 340 g"), price=(4, 16),
        colours=words("ochre, rust, plum, amber"), materials=words("glass jar"),
        facts={"organic": words("yes, no"), "sugar": words("no added sugar, reduced sugar, full fruit")},
        features=lines("""
            From forty hives on the shore of Lake Hallmere.
            Cooked in copper, in batches of twelve jars.
            Spreads straight from the larder.
            More fruit than sugar.
            Bring the jar back for a crown."""),
        praise=lines("""
            tastes of summer
            not too sweet
            gone within a week
            the best in the region"""),
        complaints=lines("""
            too runny
            crystallised
            the lid leaked
            far too sweet"""),
    ),
    Leaf(
        department="Pantry", name="Biscuits & Chocolate", product_class="Food & drink", shape="biscuits",
        blurb="One for now, one for the train.",
        nouns=words("Oatcakes, Shortbread, Ginger Biscuits, Dark Chocolate, Milk Chocolate"),
        brands=words("Kirkeby's, Elver & Oat"),
        series=words("Bell, Crossing, Lock Keeper, Platform, Tuck"),
        version="net_weight", versions=words("100 g, 180 g, 300 g"), price=(3, 14),
        colours=words("rust, blue, ochre, plum"), materials=words("tin, carton"),
        facts={"contains": words("milk; wheat, oats, wheat; egg, soya"), "vegan": words("yes, no")},
        features=lines("""
            Baked in Fallowgate before six in the morning.
            Butter, not something like it.
            Snaps cleanly.
            Dunks for four seconds.
            Keeps three weeks, in theory."""),
        praise=lines("""
            dangerously good
            crisp and buttery
            not too sweet
            the tin is lovely"""),
        complaints=lines("""
            arrived in crumbs
            too hard
            very sweet
            the packet was half empty"""),
    ),
)  # fmt: skip
