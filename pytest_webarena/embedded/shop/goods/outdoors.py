"""Outdoors, garden, sound and electrics."""

from __future__ import annotations

from pytest_webarena.embedded.shop.goods.model import Leaf, lines, words

__all__ = ["LEAVES"]

_FELL = words("Harrow & Pike, Cairnway, Fellmark, Lunnet Ridge")
_GARDEN = words("Ottershaw, Pippin & Graft, Trowel Row")
_SOUND = words("Spruce Top, Voxholm, Bandstand, Northbuoy")

LEAVES = (
    Leaf(
        department="Outdoors", name="Backpacks", product_class="Outdoor gear", shape="backpack",
        blurb="From school run to hut to hut.",
        nouns=words("Backpack, Daypack, Rucksack, Roll-top Pack"), brands=_FELL,
        series=words("Badger, Crag, Dipper, Fox, Hare, Kestrel, Merlin, Otter"),
        version="capacity", versions=words("18 L, 28 L, 45 L"), price=(45, 189),
        colours=words("black, blue, sage, ochre, rust"), materials=words("waxed cotton, recycled nylon, canvas"),
        facts={"weight": words("620 g, 890 g, 1240 g, 1580 g"), "waterproof": words("yes, no, with rain cover")},
        features=lines("""
            A frame sheet that comes out for packing.
            The hip belt carries, the shoulders steer.
            A pocket for the map where you can reach it.
            Buckles you can work with cold hands.
            Repaired at our counter for life."""),
        praise=lines("""
            very comfortable on long days
            plenty of pockets
            kept everything dry in a downpour
            tough as nails"""),
        complaints=lines("""
            the straps are too short for me
            the zip jams
            no room for a bottle
            not as waterproof as promised"""),
    ),
    Leaf(
        department="Outdoors", name="Tents & Shelters", product_class="Outdoor gear", shape="tent",
        blurb="Roofs for one to four.",
        nouns=words("Tent, Tarp, Bivvy"), brands=_FELL,
        series=words("Bothy, Corrie, Ghyll, Lee, Sheepfold, Tarn"),
        version="sleeps", versions=words("1 person, 2 person, 3 person, 4 person"), price=(89, 420),
        sizes={"Bivvy": words("1 person, 2 person")},
        colours=words("sage, ochre, blue, rust"), materials=words("ripstop nylon, polyester, canvas"),
        facts={"weight": words("980 g, 1650 g, 2400 g, 3900 g"), "seasons": words("3 seasons, 4 seasons")},
        features=lines("""
            Up in four minutes, in the dark.
            Poles colour-coded and shock-corded.
            A porch big enough for boots and a stove.
            Holds in a north wind on Hallmere Head.
            Seams taped by hand."""),
        praise=lines("""
            up in no time
            stayed dry in heavy rain
            packs down small
            room for boots and a wet dog"""),
        complaints=lines("""
            condensation every morning
            one pole snapped
            the pegs are useless
            tight for two adults"""),
    ),
    Leaf(
        department="Outdoors", name="Flasks & Bottles", product_class="Outdoor gear", shape="flask",
        blurb="Hot until supper, cold until noon.",
        nouns=words("Vacuum Flask, Water Bottle, Travel Mug"), brands=words("Cairnway, Fellmark, Aldergate"),
        series=words("Beck, Cascade, Eddy, Ford, Rill, Spate, Spring, Weir"),
        version="capacity", versions=words("350 ml, 500 ml, 750 ml, 1 L"), price=(12, 48),
        colours=words("blue, sage, rust, steel, black"), materials=words("stainless steel, aluminium, glass"),
        facts={"keeps_hot": words("6 h, 12 h, 24 h"), "lid": words("screw lid, flip lid, cup lid")},
        features=lines("""
            Does not drip in the bag.
            The lid is a cup.
            Powder-coated, so wet hands hold it.
            Fits a bicycle's bottle cage.
            All parts sold separately, for decades to come."""),
        praise=lines("""
            still hot after ten hours
            never leaked in my bag
            easy to clean
            survived a fall down the quarry steps"""),
        complaints=lines("""
            the lid tastes of rubber
            lukewarm by lunch
            the paint chips
            hard to open with gloves"""),
    ),
    Leaf(
        department="Outdoors", name="Head Torches", product_class="Outdoor gear", shape="torch",
        blurb="Both hands free on the way down.",
        nouns=words("Head Torch, Hand Torch, Clip Light"), brands=_FELL,
        series=words("Comet, Dogstar, Eclipse, Flare, Lodestar, Plough, Vega"),
        version="lumens", versions=words("150 lm, 300 lm, 600 lm, 1000 lm"), price=(15, 95),
        colours=words("black, ochre, rust, blue"), materials=words("aluminium, polycarbonate"),
        facts={"battery": words("3 x AAA, USB charge, 18650 cell"), "waterproof": words("IPX4, IPX7"),
               "weight": words("58 g, 86 g, 124 g")},
        features=lines("""
            A red mode that spares the eyes of others.
            Runs eight hours at half power.
            One button, no riddles.
            Tells you how much charge is left.
            The strap comes off for washing."""),
        praise=lines("""
            astonishingly bright
            light on the head
            the red mode is great in the hut
            battery lasts a whole weekend"""),
        complaints=lines("""
            switches itself on in the bag
            the beam is patchy
            the strap slips
            charging takes for ever"""),
    ),
    Leaf(
        department="Outdoors", name="Camp Cooking", product_class="Outdoor gear", shape="stove",
        blurb="Porridge with a view.",
        nouns=words("Camping Stove, Cook Set, Spork Set"), brands=_FELL,
        series=words("Brew, Cinder, Flint, Kindle, Scout, Tinder, Trivet"),
        version="serves", versions=words("serves 1, serves 2, serves 4"), price=(14, 118),
        colours=words("steel, black, rust"), materials=words("titanium, aluminium, stainless steel"),
        facts={"fuel": words("gas, spirit, wood, none"), "weight": words("84 g, 210 g, 465 g, 780 g")},
        features=lines("""
            Boils half a litre in three minutes.
            Folds into its own pot.
            Works in wind, with the shield up.
            Legs wide enough for a real pan.
            Nothing to lose: the lighter is built in."""),
        praise=lines("""
            boils water in no time
            packs away tiny
            stable even on gravel
            works in wind"""),
        complaints=lines("""
            the igniter failed
            the handles get hot
            uses a lot of gas
            wobbly with a big pan"""),
    ),
    Leaf(
        department="Garden", name="Hand Tools", product_class="Garden", shape="trowel",
        blurb="Steel, ash and no plastic.",
        nouns=words("Trowel, Hand Fork, Secateurs, Pruning Saw, Hoe"), brands=_GARDEN,
        series=words("Allotment, Border, Cottage, Digger, Orchard, Potting, Spinney"),
        version="length", versions=words("18 cm, 24 cm, 30 cm"), price=(11, 64),
        sizes={"Hoe": words("140 cm, 160 cm"), "Secateurs": words("18 cm, 21 cm")},
        colours=words("oak, red, sage, steel"), materials=words("carbon steel, stainless steel, bronze"),
        facts={"handle": words("ash, beech, rubber"), "hand": words("right, left, either")},
        features=lines("""
            Forged in one piece.
            The ash handle can be replaced.
            Keeps its edge in stony ground.
            A hole to hang it by.
            Made for hands, not for hooks in a showroom."""),
        praise=lines("""
            cuts like butter
            comfortable all afternoon
            properly forged
            will last for ever"""),
        complaints=lines("""
            the handle split
            bent on the first stone
            too big for my hands
            arrived blunt"""),
    ),
    Leaf(
        department="Garden", name="Watering", product_class="Garden", shape="wateringcan",
        blurb="Cans, hoses and a rose that does not drip.",
        nouns=words("Watering Can, Plant Mister"), brands=_GARDEN,
        series=words("Dew, Drizzle, Freshet, Mist, Shower, Sluice"),
        version="capacity", versions=words("3 L, 5 L, 9 L"), price=(10, 72),
        sizes={"Plant Mister": words("0.3 L, 0.5 L, 0.8 L")},
        colours=words("sage, steel, copper, blue"), materials=words("galvanised steel, copper, recycled plastic"),
        facts={"rose": words("brass, steel, none"), "indoor": words("yes, no")},
        features=lines("""
            Balanced when full.
            The brass rose turns up for seedlings.
            A long neck reaches the back of the bed.
            Will not rust for ten years.
            Looks good on the step."""),
        praise=lines("""
            well balanced when full
            a fine even shower
            very pretty
            reaches every pot"""),
        complaints=lines("""
            drips from the seam
            heavy when full
            the rose clogs
            smaller than I thought"""),
    ),
    Leaf(
        department="Garden", name="Seeds", product_class="Garden", shape="seeds",
        blurb="Open-pollinated and picked by hand.",
        nouns=words("Seeds"), brands=words("Pippin & Graft, Crane Orchard"),
        series=words("""Beetroot, Broad Bean, Calendula, Carrot, Cornflower, Kale, Lettuce, Nasturtium, Pea, Pumpkin,
            Radish, Tomato"""),
        version="pack", versions=words("30 seeds, 100 seeds"), price=(2, 7),
        colours=words("red, sage, ochre, plum, blue"), materials=words("paper sachet"),
        facts={"sow": words("March to April, April to May, May to June, August"),
               "harvest": words("June, July to August, September, October"), "organic": words("yes, no")},
        features=lines("""
            Saved in Elvering for three generations.
            Germinates in eight to fourteen days.
            Happy in pots.
            Instructions on the sachet, with drawings.
            A share of the price keeps the seed library going."""),
        praise=lines("""
            every single one came up
            delicious and plentiful
            clear instructions
            lovely sachet"""),
        complaints=lines("""
            half of them never came up
            the slugs got everything
            not the variety on the picture
            very few seeds for the price"""),
    ),
    Leaf(
        department="Garden", name="Bird Feeders & Boxes", product_class="Garden", shape="birdhouse",
        blurb="For wrens, tits and a squirrel you will come to respect.",
        nouns=words("Bird Feeder, Nest Box, Bird Bath, Insect Hotel"),
        brands=words("Ottershaw, Trowel Row, Mossfold Mill"),
        series=words("Dunnock, Fieldfare, Linnet, Nuthatch, Redstart, Siskin, Wren"),
        version="size_label", versions=words("small, medium, large"), price=(12, 58),
        colours=words("sage, oak, blue, rust"), materials=words("larch, oak, recycled plastic, slate"),
        facts={"hangs": words("from a branch, on a wall, on a pole"),
               "for_birds": words("small birds, robins, all birds")},
        features=lines("""
            Opens at the back for cleaning.
            Squirrel-proof, more or less.
            Untreated wood, safe for nestlings.
            The hole is lined with slate.
            Screws included."""),
        praise=lines("""
            occupied within a week
            easy to clean
            solid wood
            the birds found it at once"""),
        complaints=lines("""
            the squirrels won
            the roof leaks
            no screws in the box
            split after one winter"""),
    ),
    Leaf(
        department="Sound & Electrics", name="Headphones", product_class="Electricals", shape="headphones",
        blurb="Over the ear, on the ear, in the ear.",
        nouns=words("Over-ear Headphones, On-ear Headphones, Earphones"), brands=_SOUND,
        series=words("Alto, Cadence, Descant, Forte, Motet, Nocturne, Refrain"),
        version="connection", versions=words("wired, wireless, noise cancelling"), price=(24, 249),
        colours=words("black, cream, blue, copper"), materials=words("aluminium, oak, recycled plastic"),
        facts={"battery": words("20 h, 30 h, 50 h"), "weight": words("18 g, 165 g, 240 g, 310 g"),
               "microphone": words("yes, no")},
        features=lines("""
            Pads you can replace without tools.
            Voiced by a violin maker.
            Folds flat into a linen bag.
            Passes through the outside world at a tap.
            Two years of guarantee."""),
        praise=lines("""
            clear and balanced sound
            comfortable even with glasses
            the battery lasts for days
            blocks out the train"""),
        complaints=lines("""
            the ear cups are too small
            they pinch after an hour
            the bass is thin
            loses its connection"""),
    ),
    Leaf(
        department="Sound & Electrics", name="Speakers", product_class="Electricals", shape="speaker",
        blurb="For the shelf, the shed and the shore.",
        nouns=words("Portable Speaker, Bookshelf Speaker, Shower Speaker"), brands=_SOUND,
        series=words("Boom, Chorus, Drumlin, Echo, Organ, Timbre, Tutti"),
        version="power", versions=words("5 W, 12 W, 30 W"), price=(29, 199),
        colours=words("black, walnut, sage, rust"), materials=words("walnut, fabric, aluminium"),
        facts={"battery": words("none, 8 h, 15 h, 24 h"), "waterproof": words("no, IPX5, IPX7")},
        features=lines("""
            Two of them make a pair.
            Real buttons.
            Fills a kitchen, not the neighbour's.
            Charges your phone in a pinch.
            A walnut box, dovetailed."""),
        praise=lines("""
            surprisingly big sound
            pairs at once
            the battery goes on and on
            lovely wooden case"""),
        complaints=lines("""
            crackles at full volume
            the bass rattles
            no cable in the box
            the buttons are stiff"""),
    ),
    Leaf(
        department="Sound & Electrics", name="Radios", product_class="Electricals", shape="radio",
        blurb="The shipping forecast, clearly.",
        nouns=words("Kitchen Radio, Portable Radio, Clock Radio"), brands=_SOUND,
        series=words("Aerial, Dogger, Forties, Humber, Lundy, Viking"),
        version="reception", versions=words("FM, DAB and FM, internet and FM"), price=(35, 189),
        colours=words("cream, sage, walnut, rust, blue"), materials=words("beech, recycled plastic, leatherette"),
        facts={"battery": words("none, 4 x AA, 20 h"), "alarm": words("yes, no")},
        features=lines("""
            A dial that turns, and a display that dims.
            Six presets.
            Runs on batteries when the storm takes the line.
            A sleep timer that knows when to stop.
            Headphone socket at the side."""),
        praise=lines("""
            finds every station
            warm sound
            simple to use
            my grandfather manages it"""),
        complaints=lines("""
            poor reception in Lunnet
            the display is too bright at night
            the aerial broke
            forgets its presets"""),
    ),
    Leaf(
        department="Sound & Electrics", name="Chargers & Cables", product_class="Electricals", shape="cable",
        blurb="One more than you need.",
        nouns=words("USB-C Cable, Charging Cable, Extension Lead, Headphone Cable"),
        brands=words("Northbuoy, Three Phase"),
        series=words("Braid, Hemp, Line, Reel, Tether, Tow"),
        version="length", versions=words("0.5 m, 1 m, 2 m, 3 m"), price=(6, 54),
        colours=words("black, cream, ochre, blue"), materials=words("braided nylon, recycled plastic, cotton"),
        facts={"power": words("15 W, 30 W, 65 W, 100 W"), "plug": words("straight, angled")},
        features=lines("""
            The plugs are short and do not break off.
            Charges a laptop.
            Bends ten thousand times.
            Comes with a strap.
            Tested by Milan Dravec in Corrin Bridge."""),
        praise=lines("""
            charges quickly
            feels indestructible
            the length is ideal
            nice fabric"""),
        complaints=lines("""
            stopped working after a week
            slower than stated
            the plug is loose
            too stiff"""),
    ),
)  # fmt: skip
