"""Kitchen, lighting and living."""

from __future__ import annotations

from pytest_webarena.embedded.shop.goods.model import Leaf, lines, words

__all__ = ["LEAVES"]

_KITCHEN = words("Holm & Wade, Aldergate, Copperfell, Nettlebed")
_LIGHT = words("Wickwire, Lumen & Larch, Hallmere Glass, Brightwater")
_LIVING = words("Mossfold Mill, Quayside, Thornquist, Fernley")

LEAVES = (
    Leaf(
        department="Kitchen & Table", name="Kettles & Teapots", product_class="Kitchenware", shape="kettle",
        blurb="For the stove, the socket and the second cup.",
        nouns=words("Gooseneck Kettle, Stovetop Kettle, Electric Kettle, Teapot"), brands=_KITCHEN,
        series=words("Aster, Brindle, Calder, Drift, Ember, Fathom, Garland, Heron"),
        version="capacity", versions=words("0.6 L, 0.9 L, 1.2 L, 1.7 L"), price=(24, 89),
        colours=words("copper, black, sage, cream, steel"), materials=words("stainless steel, enamelled steel, copper"),
        facts={"hob": words("all hobs, gas and electric, electric only"), "lid": words("hinged, lift-off")},
        features=lines("""
            The spout pours slowly enough for filter coffee.
            The handle stays cool while the water boils.
            A whistle you can hear from the garden.
            The base is flat and suits induction.
            Descale it with vinegar twice a year and it will outlive the stove."""),
        praise=lines("""
            boils faster than I expected
            the handle never gets hot
            pours without a single drip
            quiet enough for early mornings"""),
        complaints=lines("""
            the lid rattles
            it drips when the pot is full
            the whistle gave up after a month
            limescale shows at once"""),
    ),
    Leaf(
        department="Kitchen & Table", name="Pots & Pans", product_class="Kitchenware", shape="pan",
        blurb="Cast iron, steel and a few that do not stick.",
        nouns=words("Frying Pan, Sauté Pan, Saucepan, Casserole"), brands=_KITCHEN,
        series=words("Anvil, Bastion, Crofter, Dapple, Forge, Granary, Hearth, Ironside"),
        version="diameter", versions=words("20 cm, 24 cm, 28 cm, 30 cm"), price=(28, 145),
        colours=words("black, blue, red, steel"),
        materials=words("cast iron, carbon steel, stainless steel, aluminium"),
        facts={"hob": words("all hobs, gas and electric"), "lid": words("with lid, without lid")},
        features=lines("""
            Heavy enough to hold its heat, light enough to lift.
            Arrives seasoned and gets better with every use.
            The rivets are set flush, so nothing collects behind them.
            Oven-safe to 240 degrees.
            Comes with a twenty-year guarantee."""),
        praise=lines("""
            nothing sticks to it
            heats evenly to the very edge
            solid and well balanced
            looks better now than when it was new"""),
        complaints=lines("""
            far heavier than it looks
            the coating scratched within weeks
            the handle gets hot
            it warped on my induction hob"""),
    ),
    Leaf(
        department="Kitchen & Table", name="Mugs & Cups", product_class="Kitchenware", shape="mug",
        blurb="Thrown, glazed and dishwasher-proof.",
        nouns=words("Mug, Espresso Cup, Soup Mug"), brands=words("Thornquist, Aldergate, Fernley"),
        series=words("Barley, Clay, Dunmere, Estuary, Flint, Glaze, Harbour, Ivesham, Juniper"),
        version="capacity", versions=words("250 ml, 350 ml, 450 ml"), price=(8, 26),
        sizes={"Espresso Cup": words("60 ml, 90 ml"), "Soup Mug": words("450 ml, 600 ml")},
        colours=words("blue, sage, ochre, cream, black, rust"),
        materials=words("stoneware, porcelain, enamelled steel"),
        facts={"care": words("dishwasher safe, wash by hand"), "set_of": words("1, 2, 4")},
        features=lines("""
            Glazed by hand, so no two are quite alike.
            The handle takes three fingers.
            Stacks with its siblings.
            Keeps tea warm for longer than you can forget about it.
            Fired in Dunmere with wood from the Great Forest."""),
        praise=lines("""
            fits my hand perfectly
            the glaze is even prettier than in the picture
            keeps tea hot for ages
            survived the dishwasher for a year"""),
        complaints=lines("""
            smaller than I thought
            arrived with a chip
            the colour differs from the picture
            the handle is too narrow"""),
    ),
    Leaf(
        department="Kitchen & Table", name="Knives & Boards", product_class="Kitchenware", shape="knife",
        blurb="Sharp things, and something to put under them.", option="engraving",
        nouns=words("Chef's Knife, Paring Knife, Bread Knife, Chopping Board"),
        brands=words("Pell & Sons, Copperfell, Nettlebed"),
        series=words("Adder, Bramble, Curlew, Damson, Edge, Fellside, Grayling, Hawthorn"),
        version="length", versions=words("16 cm, 20 cm, 24 cm"), price=(18, 120),
        sizes={"Paring Knife": words("8 cm, 9 cm, 10 cm"),
        "Chopping Board": words("30 x 20 cm, 40 x 25 cm, 45 x 30 cm")},
        colours=words("walnut, oak, black"), materials=words("carbon steel, stainless steel, end-grain oak"),
        facts={"edge": words("plain, serrated"), "hardness": words("56 HRC, 58 HRC, 60 HRC")},
        features=lines("""
            Ground thin behind the edge.
            The tang runs through to the end of the handle.
            Sharpened free of charge once a year at our counter.
            Oiled wood that feels warm in a cold kitchen.
            Never put it in the dishwasher."""),
        praise=lines("""
            razor sharp out of the box
            holds its edge for months
            beautifully balanced
            the handle is a pleasure"""),
        complaints=lines("""
            rusts if you look away
            needed sharpening on day one
            too heavy for small hands
            the handle came loose"""),
    ),
    Leaf(
        department="Kitchen & Table", name="Baking", product_class="Kitchenware", shape="bowl",
        blurb="Tins, bowls and the patience to wait for dough.",
        nouns=words("Mixing Bowl, Loaf Tin, Proving Basket, Cake Tin"), brands=_KITCHEN,
        series=words("Almond, Batter, Crumb, Dough, Elder, Flour, Ginger, Honey"),
        version="size_label", versions=words("small, medium, large"), price=(9, 48),
        colours=words("cream, steel, ochre, sage"), materials=words("stoneware, tinplate, rattan, stainless steel"),
        facts={"care": words("dishwasher safe, wash by hand"), "oven_safe": words("230 °C, 250 °C, not oven safe")},
        features=lines("""
            Rolled rims, no sharp corners.
            Big enough for a kilo of flour, small enough for the fridge.
            Heats evenly, so the middle is done when the edge is.
            Stacks flat.
            Used every morning at Kirkeby's."""),
        praise=lines("""
            the best crust I have had at home
            easy to clean
            sturdy and simple
            exactly the right size"""),
        complaints=lines("""
            the dough stuck to it
            bent in the post
            smaller than stated
            the rim cuts a little"""),
    ),
    Leaf(
        department="Lighting", name="Table Lamps", product_class="Lighting", shape="lamp",
        blurb="For desks, bedsides and the far end of the sofa.",
        nouns=words("Reading Lamp, Desk Lamp, Bedside Lamp"), brands=_LIGHT,
        series=words("Arc, Beacon, Candela, Dusk, Eaves, Firefly, Glimmer, Halo, Inkwell"),
        version="lumens", versions=words("300 lm, 450 lm, 800 lm"), price=(29, 139),
        colours=words("black, sage, ochre, copper, cream"), materials=words("steel, oak, brass, ceramic"),
        facts={"power": words("5 W, 7 W, 9 W, 12 W"), "dimmable": words("yes, no"),
               "cable": words("1.5 m, 2 m, 2.5 m")},
        features=lines("""
            The arm stays where you put it.
            Warm light, dimmable by turning the base.
            The bulb can be changed, as it should be.
            A woven cable that does not curl.
            Weighted foot, felt underneath."""),
        praise=lines("""
            lovely warm light
            the arm stays put
            bright enough to read by for hours
            very sturdy foot"""),
        complaints=lines("""
            the switch is hard to find in the dark
            it flickers when dimmed
            the cable is too short
            it wobbles"""),
    ),
    Leaf(
        department="Lighting", name="Floor Lamps", product_class="Lighting", shape="floorlamp",
        blurb="Tall ones, for corners.",
        nouns=words("Floor Lamp, Tripod Lamp, Arc Lamp"), brands=_LIGHT,
        series=words("Ash, Birch, Cedar, Elm, Hazel, Larch, Rowan, Willow"),
        version="height", versions=words("140 cm, 155 cm, 170 cm"), price=(79, 289),
        colours=words("oak, black, walnut, copper"), materials=words("oak, ash, steel, brass"),
        facts={"power": words("9 W, 12 W, 18 W"), "dimmable": words("yes, no"), "shade": words("linen, paper, steel")},
        features=lines("""
            Foot switch, so you need not bend.
            Shade of linen woven in Mossfold.
            Stands firm on carpets.
            Takes any bulb with an E27 base.
            Two screws and it is up."""),
        praise=lines("""
            fills the corner with soft light
            easy to put together
            the wood is beautiful
            stands firm even with children about"""),
        complaints=lines("""
            the shade arrived creased
            leans a little
            the foot switch is loud
            not as bright as hoped"""),
    ),
    Leaf(
        department="Lighting", name="Lanterns", product_class="Lighting", shape="lantern",
        blurb="The thing we are named for.",
        nouns=words("Storm Lantern, Paper Lantern, Candle Lantern, LED Lantern"), brands=_LIGHT,
        series=words("Anchor, Brackwater, Chapel, Dockside, Fairlight, Gable, Hallmere, Jetty"),
        version="height", versions=words("18 cm, 25 cm, 34 cm"), price=(16, 84),
        colours=words("rust, black, sage, copper, blue"), materials=words("tinplate, brass, glass, rice paper"),
        facts={"burns": words("paraffin, candles, batteries, USB charge"), "weatherproof": words("yes, no")},
        features=lines("""
            Lit along Wendgate at every Lantern Fair.
            Burns twenty hours on one filling.
            The glass lifts out for cleaning.
            A handle broad enough for gloves.
            Folds flat when the fair is over."""),
        praise=lines("""
            a beautiful glow
            survived a storm on the porch
            easy to light
            looks like my grandmother's"""),
        complaints=lines("""
            smokes if the wick is long
            the handle bent
            rusted in the first winter
            dimmer than expected"""),
    ),
    Leaf(
        department="Lighting", name="Bulbs", product_class="Lighting", shape="bulb",
        blurb="Warm, warmer and kitchen.",
        nouns=words("Filament Bulb, Globe Bulb, Candle Bulb"), brands=words("Wickwire, Brightwater"),
        series=words("Amber, Clear, Everyday, Frost, Opal, Smoke"),
        version="lumens", versions=words("250 lm, 470 lm, 806 lm, 1055 lm"), price=(4, 19),
        colours=words("amber, clear, white"), materials=words("glass"),
        facts={"base": words("E14, E27"), "power": words("2 W, 4 W, 7 W, 9 W"), "pack": words("1, 2, 4")},
        features=lines("""
            Fifteen thousand hours, at three hours a day about fourteen years.
            No flicker, even when dimmed.
            Warm white, 2700 K.
            Good colours: oranges look orange.
            Recycle it at our counter."""),
        praise=lines("""
            no flicker at all
            exactly the warm light I wanted
            good value
            comes on at once"""),
        complaints=lines("""
            died after two months
            hums on my dimmer
            too yellow
            wrong base in the box"""),
    ),
    Leaf(
        department="Home & Living", name="Cushions & Throws", product_class="Homeware", shape="cushion",
        blurb="Wool, linen and a nap on Sunday.",
        nouns=words("Wool Throw, Cushion, Linen Cushion, Blanket"), brands=_LIVING,
        series=words("Bracken, Cairn, Drover, Fleece, Gorse, Heath, Lamb, Moor"),
        version="dimensions", versions=words("130 x 170 cm, 150 x 200 cm, 180 x 220 cm"), price=(19, 119),
        sizes={"Cushion": words("40 x 40 cm, 45 x 45 cm, 50 x 50 cm"),
        "Linen Cushion": words("45 x 45 cm, 50 x 30 cm")},
        colours=words("rust, sage, ochre, blue, cream, plum"), materials=words("lambswool, linen, cotton, wool felt"),
        facts={"care": words("wash at 30 °C, dry clean, hand wash")},
        features=lines("""
            Woven at the mill in Mossfold.
            Dyed with madder and weld.
            Softens with every wash.
            Fringed by hand.
            The filling comes from the same flock."""),
        praise=lines("""
            incredibly soft
            the colour is rich
            warm without weight
            the cat approves"""),
        complaints=lines("""
            sheds a little at first
            scratchy on bare skin
            thinner than expected
            the zip broke"""),
    ),
    Leaf(
        department="Home & Living", name="Baskets & Storage", product_class="Homeware", shape="basket",
        blurb="A place for everything you own too many of.",
        nouns=words("Storage Basket, Log Basket, Laundry Basket, Crate"), brands=_LIVING,
        series=words("Bulrush, Creel, Osier, Pannier, Sedge, Trug, Wicker, Withy"),
        version="size_label", versions=words("small, medium, large"), price=(14, 86),
        colours=words("natural, black, sage, walnut"), materials=words("willow, jute, seagrass, pine"),
        facts={"handles": words("rope, leather, cut-out"), "lid": words("with lid, without lid")},
        features=lines("""
            Woven by two brothers in Gorsehythe.
            Strong enough for logs, fine enough for wool.
            Handles that do not cut into the hand.
            Lined with linen that comes out for washing.
            Stacks when empty."""),
        praise=lines("""
            sturdy and good looking
            holds more than you think
            well woven
            the handles are comfortable"""),
        complaints=lines("""
            a few loose ends
            smells of varnish
            smaller than the picture suggests
            one handle tore"""),
    ),
    Leaf(
        department="Home & Living", name="Clocks", product_class="Homeware", shape="clock",
        blurb="Set in Kelderby, right to the minute.",
        nouns=words("Wall Clock, Mantel Clock, Alarm Clock"), brands=words("Hale, Escapement, Quayside"),
        series=words("Belfry, Chime, Dial, Fusee, Gnomon, Meridian, Pendulum, Verge"),
        version="diameter", versions=words("12 cm, 20 cm, 30 cm"), price=(22, 160),
        colours=words("walnut, black, copper, cream, blue"), materials=words("walnut, steel, brass, slate"),
        facts={"movement": words("quartz, mechanical, radio controlled"), "strikes": words("yes, no")},
        features=lines("""
            Sweeps without a tick.
            Wind it on Sundays.
            The dial is legible from across the room.
            Slate from the quarry at Kelderby.
            Repaired by Hale Clocks if it ever stops."""),
        praise=lines("""
            completely silent
            keeps perfect time
            the dial is easy to read
            feels like an heirloom"""),
        complaints=lines("""
            ticks louder than promised
            loses five minutes a week
            the hands do not glow
            battery cover is flimsy"""),
    ),
    Leaf(
        department="Home & Living", name="Vases & Plant Pots", product_class="Homeware", shape="vase",
        blurb="Thrown in Dunmere, filled anywhere.",
        nouns=words("Vase, Bud Vase, Plant Pot, Jug"), brands=words("Thornquist, Fernley, Hallmere Glass"),
        series=words("Alder, Celadon, Dune, Kiln, Lake, Pebble, Reed, Salt"),
        version="height", versions=words("12 cm, 20 cm, 28 cm"), price=(12, 74),
        colours=words("blue, sage, cream, rust, black"), materials=words("stoneware, terracotta, glass"),
        facts={"drainage": words("with hole, without hole"), "finish": words("matt, glossy, raw")},
        features=lines("""
            Ash glaze, fired once.
            Heavy foot, so tulips will not tip it.
            Comes with a saucer.
            Frost-proof to minus ten.
            Signed underneath by the potter."""),
        praise=lines("""
            the glaze is gorgeous
            heavy and stable
            looks handmade because it is
            perfect for a few stems"""),
        complaints=lines("""
            leaks a little
            arrived broken
            rough underneath and scratched the table
            the colour is duller in person"""),
    ),
    Leaf(
        department="Home & Living", name="Candles", product_class="Homeware", shape="candle",
        blurb="Beeswax mostly, scented rarely.",
        nouns=words("Beeswax Candle, Scented Candle, Pillar Candle, Dinner Candles"),
        brands=words("Heather & Honey, Wickwire, Fernley"),
        series=words("Clove, Fig, Heather, Pine Needle, Quince, Rain, Smoke, Tallow"),
        version="burn_time", versions=words("12 h, 25 h, 50 h"), price=(6, 34),
        colours=words("cream, ochre, sage, plum"), materials=words("beeswax, rapeseed wax, soy wax"),
        facts={"scent": words("unscented, light, strong"), "pack": words("1, 2, 6")},
        features=lines("""
            Poured in small batches.
            The wick is cotton, without lead.
            Burns clean to the bottom.
            Wax from hives around Lake Hallmere.
            The glass makes a good tumbler afterwards."""),
        praise=lines("""
            burns evenly
            the scent is gentle
            lasts longer than stated
            no soot"""),
        complaints=lines("""
            tunnels down the middle
            the scent gave me a headache
            hardly smells of anything
            arrived melted"""),
    ),
)  # fmt: skip
