# ruff: noqa: E501, SIM905
"""Provides static pages on one subject each, for comparing extractors."""

from __future__ import annotations

import random

__all__ = ["PAGES"]

_WORDS = """
    amber bridge candle drift ember forest garden harbour island jasmine kettle lantern meadow needle orchard
    paper quarry river saddle timber umbrella velvet willow yarn zephyr
""".split()
_PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACw="


def _products(count: int) -> str:
    made = random.Random(7)
    cards = []
    for number in range(count):
        name = " ".join(made.sample(_WORDS, 3)).title()
        cards.append(
            f"<li class=card><a href='/p/{number}'><img src='{_PIXEL}' alt='{name}' width=120 height=90></a>"
            f"<h3><a href='/p/{number}'>{name}</a></h3><p>{' '.join(made.choices(_WORDS, k=14))}.</p>"
            f"<span class=price>${made.randint(5, 900)}.{made.randint(10, 99)}</span> "
            f"<span>{made.randint(1, 5)} of 5</span><button>Add to cart</button>"
            f"<button aria-label='Add {name} to the wish list'>&#9825;</button></li>"
        )
    return (
        "<title>Products</title><style>ul{display:flex;flex-wrap:wrap;list-style:none}.card{width:220px}</style>"
        "<header><nav><ul><li><a href=/>Home</a><li><a href=/new>New</a><li><a href=/sale>Sale</a></ul></nav>"
        "<form role=search><input type=search placeholder='Search the shop'><button>Search</button></form></header>"
        f"<main><h1>All products</h1><ul>{''.join(cards)}</ul></main><footer><p>The end</p></footer>"
    )


def _grid(rows: int) -> str:
    made = random.Random(3)
    body = "".join(
        f"<tr><td>{number}<td>{made.choice(_WORDS)} {made.choice(_WORDS)}<td>{made.randint(1, 99)}<td>"
        f"<a href='/o/{number}'>View</a></tr>"
        for number in range(1, rows)
    )
    return (
        "<title>Orders</title><table><caption>Orders</caption><thead><tr><th>#<th>Customer<th>Items<th>Action</thead>"
        f"<tbody>{body}</table><nav aria-label=Pages><a href=?p=1 aria-current=page>1</a> <a href=?p=2>2</a></nav>"
    )


PAGES: dict[str, str] = {
    "form": """<title>Contact</title><h1>Contact us</h1><form><label>Name <input name=n required></label>
<label>Email <input type=email value='ada@a.test'></label>
<label for=s>Subject</label><select id=s><option>Sales<option selected>Support</select>
<fieldset><legend>Urgency</legend><label><input type=radio name=u>Low</label>
<label><input type=radio name=u checked>High</label></fieldset><label><input type=checkbox checked> Send a copy</label>
<textarea aria-label=Message>hello
there</textarea><input type=date value=2026-01-02 aria-label=When><input type=number value=3 aria-label=Count>
<input type=range value=30 aria-label=Volume><input type=file aria-label=Paper><input type=color aria-label=Tint>
<input type=password value=secret aria-label=Password><input type=search placeholder=Find><input type=time>
<button disabled>Send</button><input type=submit value=Go><input type=reset></form>""",
    "products": _products(60),
    "grid": _grid(40),
    "text": """<title>Text</title><h1>A <em>long</em> title</h1><p>Some <b>bold</b>, <i>slanted</i> and
<code>code</code> words, a <a href=#x>link with <b>bold</b></a>.<br>A new line. <sup>1</sup> <mark>marked</mark>
<del>gone</del> <ins>new</ins> <q>quoted</q> <abbr title=HyperText>HTML</abbr> <time>today</time></p>
<blockquote>Said once</blockquote><pre>two
  lines</pre><hr><p></p><p>   </p><address>Somewhere</address><p lang=de>Grüße, 你好, שלום, 😀</p>""",
    "lists": """<title>Lists</title><ul><li>One<li>Two<ul><li>Two a<li>Two b</ul><li><a href=x>Three</a></ul>
<ol><li>First<li>Second</ol><ul style='list-style:none'><li>Bare<li></li></ul>
<dl><dt>Term<dd>Meaning<dt>Other<dd>Sense</dl><ol start=10><li>Ten<li>1<li>10</ol>""",
    "repeats": """<title>Repeats</title><p>10</p><p>1</p><p>on</p><button>Save</button><p>Save</p><p>Save</p>
<table><tr><td>10<td>1<td>0<td>on<td>one</table><a href=/x>Order <b>10</b></a><p>Order</p>
<h2>Total</h2><p>Total</p><p>Tot</p><p>StaticText 'x'</p><button>statictext</button><p>it's "both"</p>""",
    "hidden": """<title>Hidden</title><p style='display:none'>None</p><p style='visibility:hidden'>Invisible</p>
<p aria-hidden=true>Aria</p><p hidden>Attribute</p><p style='opacity:0'>Clear</p><div style='height:0'>Flat</div>
<div style='width:0;overflow:hidden'>Narrow</div><div style='display:contents'><button>Contents</button></div>
<span style='position:absolute;left:-9999px'>Far left</span><div inert><button>Inert</button></div>
<p style='visibility:hidden'>Out <b style='visibility:visible'>In</b></p><button style='display:contents'>Boxless</button>
<span style='clip-path:inset(50%);position:absolute;width:1px;height:1px;overflow:hidden'>Screen reader</span>""",
    "edges": """<title>Edges</title><body style='margin:0;height:3000px;width:3000px'>
<button style='position:absolute;top:710px;left:10px;height:40px'>Bottom edge</button>
<button style='position:absolute;top:719.6px;left:200px;height:40px'>Sliver</button>
<button style='position:absolute;top:300px;left:1270px;width:300px'>Right edge</button>
<button style='position:absolute;top:400px;left:1279.9px;width:300px'>Right sliver</button>
<div style='position:absolute;top:500px;width:1280px;height:.5px' role=separator aria-label=Thin></div>
<button style='position:absolute;top:-20px;left:400px;height:40px'>Top edge</button>
<button style='position:absolute;top:720px;left:600px'>Just below</button>
<div style='position:fixed;bottom:0;right:0'>Fixed</div><button style='position:absolute;top:2500px'>Below</button>
<a href=x style='position:absolute;top:100px;left:-100px;width:3000px'>Wide</a>""",
    "clipped": """<title>Clipped</title><div style='width:300px;height:100px;overflow:auto'><p>Scroller one</p>
<p style='margin-top:200px'>Scroller two</p></div><div style='width:300px;overflow:hidden;white-space:nowrap'>
<span style='display:inline-block;width:300px'>Slide 1</span><span style='display:inline-block;width:300px'>Slide 2</span>
<span style='display:inline-block;width:1200px'>Slide 3</span><span>Slide 4</span></div>
<div style='transform:scale(2);transform-origin:0 0;width:200px'>Twice <a href=x>as large</a></div>
<div style='transform:translate(2000px)'>Moved away</div><div style='columns:3'>Some text in three columns that breaks
over them, some text in three columns that breaks over them, some text in three columns.</div>""",
    "aria": """<title>Aria</title><div role=tablist><button role=tab aria-selected=true>One</button>
<button role=tab>Two</button></div><div role=tabpanel aria-label=One>Panel</div>
<div role=menu><div role=menuitem tabindex=0>Cut</div><div role=menuitemcheckbox aria-checked=mixed>Bold</div></div>
<div role=checkbox aria-checked=true aria-labelledby=l tabindex=0></div><span id=l>Labelled</span>
<button aria-expanded=false aria-haspopup=true aria-controls=m>Menu</button><button aria-pressed=true>Pin</button>
<div role=progressbar aria-valuenow=30 aria-valuemax=100 aria-label=Load></div><div role=alert>Careful</div>
<ul role=tree><li role=treeitem aria-expanded=true aria-level=1>Root<ul role=group><li role=treeitem>Leaf</ul></ul>
<div role=slider aria-valuenow=5 aria-valuetext=five aria-label=Level tabindex=0></div>
<div role=button tabindex=0 aria-describedby=d>Described</div><span id=d>How it is</span>
<div role=heading aria-level=3>Deep</div><nav aria-label=Main><a href=a aria-current=page>Here</a></nav>
<div role=img aria-label=Chart></div><div role=combobox aria-expanded=true tabindex=0 aria-label=City>Pit</div>
<a>No href</a><span onclick='x()'>Clickable</span><div tabindex=0>Focusable</div><input aria-invalid=true aria-label=Bad>""",
    "selects": """<title>Selects</title><select aria-label=One><option>a<option selected>b<option disabled>c</select>
<select aria-label=Many multiple size=4><option selected>m1<option>m2<option selected>m3</select>
<select aria-label=Grouped><optgroup label=G1><option>g1</optgroup><optgroup label=G2><option selected>g2</optgroup></select>
<select aria-label=Empty></select><input list=dl aria-label=Suggest><datalist id=dl><option value=s1><option value=s2></datalist>""",
    "media": f"""<title>Media</title><img src='{_PIXEL}' width=20 height=20><img src='{_PIXEL}' alt='' width=20 height=20>
<img src='{_PIXEL}' alt='A dog' width=20 height=20><a href=x><img src='{_PIXEL}' alt=Linked width=20 height=20></a>
<svg width=30 height=30><title>Drawn</title><circle r=9 cx=10 cy=10 /></svg><svg width=30 height=30><text y=20>Txt</text></svg>
<canvas width=40 height=20>Fallback</canvas><figure><img src='{_PIXEL}' alt=Fig width=20 height=20><figcaption>Caption
</figcaption></figure><button><svg width=9 height=9><path d='M0 0h9v9z'/></svg></button><object></object>
<progress value=3 max=10></progress><meter value=.4></meter>""",
    "boxes": """<title>Boxes</title><details><summary>Closed</summary>Inside closed</details>
<details open><summary>Open</summary>Inside open</details><dialog open>Modal <button>OK</button></dialog>
<main><article><header><h2>Article</h2></header><section aria-label=Part>Text</section></article>
<aside>Aside</aside></main><footer>Footer</footer><output>Out</output><fieldset disabled><button>Off</button></fieldset>
<iframe srcdoc='<p>Inner</p><button>In frame</button>' title=Frame width=300 height=80></iframe>
<div contenteditable aria-label=Rich>rich <b>text</b></div><template><p>Never</p></template>""",
    "content": """<title>Content</title><style>.q::before{content:'Before ';} .q::after{content:' after'}
li.x::marker{content:'> '} .c{text-transform:uppercase} .f::first-letter{font-size:2em}</style><p class=q>middle</p>
<ul><li class=x>Marked</ul><p class=c>upper</p><p class=f>First letter</p><a href=x class=q></a>
<button class=q>Press</button><p>soft&shy;hyphen and no&nbsp;break</p><p>a\tb\n  c</p>""",
    "scrolled": "<title>Scrolled</title>"
    + "".join(
        f"<h2 id=h{n}>Heading {n}</h2><p>Paragraph {n} of many. <a href=#h{n}>Self {n}</a></p>" for n in range(80)
    ),
    "layout": """<title>Layout</title><div style='display:grid;grid-template-columns:1fr 1fr'><div>Cell <span>one</span></div>
<div><p>Cell two</p></div></div><div style='float:left'>Float</div><span style='display:inline-block'>Inline <b>block</b>
</span><div style='direction:rtl'>Right <a href=x>to</a> left</div><table><tr><td rowspan=2>Tall<td>1</tr><tr><td>2</tr>
</table><div style='display:flex;flex-direction:column-reverse'><i>Last</i><i>First</i></div><font color=red>Old</font>
<center>Centred</center><div style='position:sticky;top:0'>Sticky</div><ruby>漢<rt>kan</rt></ruby><wbr><span> </span>""",
    "defects": """<title>Defects</title><body style="margin:0">
<select aria-label=Size><option>S<option selected>M</select><input aria-label=Email value=ada@a.test>
<p>Total of 10</p><p>Total</p><button>Save</button><p>Save</p><ul><li></li></ul>
<div role=separator aria-label=Thin style="position:absolute;left:0;top:500px;width:1280px;height:0.5px"></div>
<iframe srcdoc="<p>Inner</p>" title=Frame></iframe>
<button style="position:absolute;left:0;top:719px;height:40px">Sliver</button>""",
}
"""The HTML of each page, by name."""
