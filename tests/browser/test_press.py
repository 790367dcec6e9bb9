"""Keys pressed on an element: it is focused first, and clicked only if it cannot be focused otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_webarena.actions import Click, Point, Press, Selector
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.browser.session import Session
from tests.browser.acting import LOG, by_id, done, logged, value_of

if TYPE_CHECKING:
    from tests.browser.conftest import Web

Show = Callable[[str], Session]
HEARS = """<script>
for (const kind of ['click', 'keydown']) document.addEventListener(kind, e => log(`${kind} ${e.target.id}`));
</script>"""


def test_key_on_button_acts_once_for_any_kind_of_target(show: Show) -> None:
    session = show(
        f"<body style='margin:0'><button id=b style='width:90px;height:40px'><span>Go</span></button>{LOG}{HEARS}"
    )
    id = by_id(session, "button 'Go'").id
    call = grammar("playwright").parse
    presses = [
        Press("Enter", Selector("css=#b")),
        Press("Enter", Selector("css=#b span")),
        Press("Enter", Point(45, 20)),
        call("```page.get_by_role('button', name='Go').press('Enter')```"),
        call("```page.get_by_text('Go').press('Space')```"),
        call(f"press('{id}', 'Space')"),
        grammar("set_of_marks").parse(f"```press [{id}] [Enter]```"),
    ]
    for number, press in enumerate(presses, start=1):
        done(session, press)
        assert sorted(logged(session)) == sorted(["click b", "keydown b"] * number), press


def test_space_checks_checkbox_in_frames_and_shadow_trees(show: Show, web: Web) -> None:
    box = "<label>Tick <input type=checkbox id=box onchange=document.title=this.checked></label>"
    web.put("http://b.test/", box)
    session = show(
        f"{box}<iframe id=near srcdoc='{box}'></iframe><iframe id=far src=http://b.test/></iframe><x-box></x-box>"
        "<script>customElements.define('x-box', class extends HTMLElement { connectedCallback() {"
        "this.attachShadow({mode: 'open'}).innerHTML = `<input type=checkbox>`; } });</script>"
    )
    frame = "css=iframe#{} >> internal:control=enter-frame >> css=#box"
    for selector in ("css=#box", "css=x-box input", frame.format("near"), frame.format("far")):
        done(session, Press("Space", Selector(selector)))
        assert value_of(session, selector) == "true", selector
    done(session, Press("Space", Selector("css=label")))
    done(session, Press("Space", Selector("css=x-box")))
    assert (value_of(session, "css=#box"), value_of(session, "css=x-box input")) == ("false", "false")


def test_cursor_position_after_press_matches_playwright(show: Show) -> None:
    session = show("<input id=a value=abc><input id=b value=abc readonly onkeydown=\"document.title='heard'\">")
    done(session, Press("x", Selector("css=#a")))
    done(session, Press("End"))
    done(session, Press("y", Selector("css=#a")))
    assert value_of(session, "css=#a") == "xabcy"
    done(session, Press("ArrowDown", Selector("css=#b")))
    assert session.observe().title == "heard"


def test_element_that_cannot_be_focused_is_clicked(show: Show) -> None:
    session = show(
        f"<div id=edit contenteditable><p id=p>one</p></div><div id=cell>Cell</div>{LOG}{HEARS}"
        "<script>cell.onclick = () => { onkeydown = e => log(`cell has ${e.key}`) }</script>"
    )
    done(session, Press("x", Selector("css=#edit")))
    assert logged(session) == ("keydown edit",)
    done(session, Press("y", Selector("css=#p")))
    assert logged(session) == ("keydown edit", "keydown edit")
    assert value_of(session, "css=#p") == "xyone"
    done(session, Press("z", Selector("css=#cell")))
    assert logged(session)[2:] == ("click cell", "keydown", "cell has z")


def test_disabled_control_gets_no_key(show: Show) -> None:
    session = show(f"<button id=b disabled><span>Go</span></button><input id=i>{LOG}{HEARS}")
    done(session, Click(Selector("css=#i")))
    assert "is disabled" in session.execute(Press("Enter", Selector("css=#b span"))).error
    assert logged(session) == ("click i",)


def test_key_follows_focus_moved_by_the_page(show: Show) -> None:
    session = show(f'<input id=one onfocus="other.focus()" onclick="log(1)"><input id=other>{LOG}')
    done(session, Press("x", Selector("css=#one")))
    assert (logged(session), value_of(session, "css=#other")) == ((), "x")


def test_element_with_one_control_focuses_it_without_click(show: Show) -> None:
    button = "<button>Go</button>"
    session = show(
        f"<x-own id=own></x-own><x-closed id=closed></x-closed><table><tr><td id=cell>{button}</td></tr></table>"
        f"<div id=row role=row><span><input type=checkbox></span></div><h2 id=head>{button}</h2>"
        "<button><svg width=9 height=9><path id=path d='M0 0H9V9H0z'/></svg></button>"
        f"<svg width=9 height=9 tabindex=0><rect id=rect width=9 height=9 /></svg>{LOG}"
        "<div tabindex=0><b id=part>Part</b></div><div role=grid tabindex=0><b id=chosen>Chosen</b></div>"
        "<div role=grid><div role=gridcell tabindex=-1><b id=roving>Roving</b></div></div>"
        "<ul role=listbox tabindex=0><li role=option id=option>Option</li></ul>"
        "<div role=grid tabindex=0><div role=gridcell><b id=active>Active</b></div></div>"
        "<script>for (const kind of ['click', 'keydown']) document.addEventListener(kind, e => log(kind));"
        "customElements.define('x-own', class extends HTMLElement {"
        f"connectedCallback() {{ this.innerHTML = '{button}{button}' }} focus() {{ this.lastChild.focus() }} }});"
        "customElements.define('x-closed', class extends HTMLElement {"
        f"connectedCallback() {{ this.attachShadow({{mode: 'closed'}}).innerHTML = '{button}' }} }});</script>"
    )
    received: tuple[str, ...] = ()
    acts = dict.fromkeys(("own", "closed", "cell", "row", "head", "path"), ("keydown", "click"))
    parts = dict.fromkeys(("rect", "part", "chosen", "roving"), ("keydown",))
    chosen = dict.fromkeys(("option", "active"), ("click", "keydown"))
    for id, wanted in {**acts, **parts, **chosen}.items():
        done(session, Press("Space", Selector(f"css=#{id}")))
        new = logged(session)[len(received) :]
        assert new == wanted, id
        received += new


def test_click_that_would_act_on_another_control_is_an_error(show: Show) -> None:
    session = show(
        "<ul><li aria-label=Both><a href=#a>One</a> <button>Two</button></li></ul>"
        "<div role=group aria-label=Framed style='width:300px'><iframe style='border:0'"
        f" srcdoc='<body style=margin:0><button style=width:300px;height:150px>In</button>'></iframe></div>{LOG}{HEARS}"
    )
    covering = session.execute(Press("Enter", by_id(session, "group 'Framed'")))
    assert covering.error.endswith("a click on it would act on button 'In'. Press the keys in that instead.")
    several = session.execute(Press("Enter", by_id(session, "listitem 'Both'")))
    assert several.error.endswith("several controls: link 'One', button 'Two'. Press the keys in one of them.")
    assert logged(session) == ()
