"""Provides the scripts and styles that the rules of `redesigned_pages` add, by path."""

from __future__ import annotations

_SCRIPT = """
document.addEventListener("click", event => {
  const control = event.target.closest("[data-go], [data-submit], [data-dismiss], [data-join]");
  if (!control) return;
  event.preventDefault();
  if (control.dataset.go) location.href = control.dataset.go;
  else if ("submit" in control.dataset) {
    const form = control.closest("form"), real = document.createElement("button");
    real.hidden = true;
    if (control.dataset.name) { real.name = control.dataset.name; real.value = control.dataset.value; }
    form.append(real);
    form.requestSubmit(real);
  } else if ("join" in control.dataset) {
    control.closest(".rd-modal").querySelector("p").textContent = "Thank you. You will hear from us.";
  } else {
    const modal = control.closest(".rd-modal");
    localStorage.setItem("rd-" + modal.dataset.from, "answered");
    modal.hidden = true;
    if (modal.close) modal.close();
  }
});
const seen = Number(sessionStorage.getItem("rd-seen") || 0) + 1;
sessionStorage.setItem("rd-seen", seen);
for (const modal of document.querySelectorAll(".rd-modal")) {
  const due = seen >= Number(modal.dataset.from) && !localStorage.getItem("rd-" + modal.dataset.from);
  if (!due) continue;
  modal.hidden = false;
  if (modal.showModal) modal.showModal();
}
"""
_STYLE = """
.rd-modal:not([hidden]){position:fixed;inset:0;width:100%;height:100%;max-width:none;max-height:none;z-index:99999;
background:#fffd;padding:15vh 20vw;border:0;margin:0;box-sizing:border-box}
.rd-card{border:1px solid #999;padding:.5em;margin:.5em 0;display:block}
.rd-radios{border:1px solid #999;display:block}
.rd-icon{display:inline-block;width:1.2em;height:1.2em;background:currentColor;border-radius:50%}
.rd-drawer{border-bottom:1px solid #999;padding:.3em}
"""

FILES = {
    "/redesigned/app.js": ("text/javascript", _SCRIPT.encode()),
    "/redesigned/app.css": ("text/css", _STYLE.encode()),
    "/redesigned/draft": ("text/html; charset=utf-8", b"<!doctype html><title>Draft</title><p>Kept as a draft.</p>"),
}

MODALS = """
<div class="rd-modal" role="dialog" aria-label="Cookies" data-from="1" hidden><p>We and our partners value your
privacy. Choose what you agree to.</p><button type="button" data-dismiss>Accept all</button>
<button type="button" data-dismiss>Only what is necessary</button> <a href="/redesigned/draft">Privacy policy</a></div>
<div class="rd-modal" data-from="3" hidden><button type="button" data-dismiss aria-label="No thanks"><span
aria-hidden="true">×</span></button><h2>Stay in the loop</h2><p>Our news, once a month.</p><label>Email <input
type="email" name="news"></label> <button type="button" data-join>Subscribe</button></div>
<dialog class="rd-modal" data-from="5" aria-label="What's new" hidden><h2>What's new</h2><p>This site has a new look.
</p><a href="/redesigned/draft">Take the tour</a> <button type="button" data-dismiss>Got it</button></dialog>
"""
