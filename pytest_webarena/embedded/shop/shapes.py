"""The drawings of `artwork`, one per kind of thing, on a field of 400 by 400 with the ground at 332.

Tones: g body with light from the left, c plain, d darker, e darkest, l lighter, p palest, a accent, w wood.
"""

from __future__ import annotations

__all__ = ["SHAPES"]

SHAPES = {
    "kettle": (
        '<path d="M128 326q-20-96 34-148h76q54 52 34 148z" fill="{g}"/>'
        '<path d="M262 232q52-6 58-86l14-6q2 104-66 132z" fill="{d}"/>'
        '<path d="M138 196q-78 4-66 66 8 34 52 36l2-16q-36-4-36-34 2-34 50-34z" fill="{e}"/>'
        '<rect x="158" y="164" width="84" height="16" rx="8" fill="{d}"/>'
        '<circle cx="200" cy="152" r="13" fill="{w}"/>'
        '<path d="M150 300h100" stroke="{l}" stroke-width="5" opacity=".5"/>'
    ),
    "pan": (
        '<path d="M52 252h210l-18 62q-4 16-22 16H92q-18 0-22-16z" fill="{g}"/>'
        '<rect x="42" y="238" width="230" height="18" rx="9" fill="{d}"/>'
        '<path d="M268 240l104-32q12-2 12 8t-10 13l-104 27z" fill="{w}"/>'
        '<circle cx="368" cy="218" r="5" fill="#fff8"/>'
        '<path d="M120 214q-10-22 4-38M160 214q-10-26 6-46M200 214q-10-22 4-38" stroke="{l}" stroke-width="6" '
        'fill="none" stroke-linecap="round"/>'
    ),
    "mug": (
        '<path d="M110 140h150v150q0 40-40 40h-70q-40 0-40-40z" fill="{g}"/>'
        '<path d="M258 172h26q44 0 44 48t-44 48h-26v-24h22q24 0 24-24t-24-24h-22z" fill="{d}"/>'
        '<ellipse cx="185" cy="140" rx="75" ry="18" fill="{e}"/>'
        '<ellipse cx="185" cy="143" rx="64" ry="12" fill="#5a3a25"/>'
        '<path d="M110 220q75 26 150 0v26q-75 26-150 0z" fill="{p}" opacity=".55"/>'
    ),
    "knife": (
        '<rect x="66" y="196" width="268" height="136" rx="14" fill="{w}"/>'
        '<path d="M84 226h232M84 262h232M84 298h232" stroke="#7d5734" stroke-width="2" opacity=".5"/>'
        '<path d="M96 150l176-28q14 34-20 46L110 190q-20-10-14-40z" fill="#dfe5e8"/>'
        '<path d="M110 190l142-22q18-8 22-22z" fill="#b7c1c6"/>'
        '<path d="M268 118l78-14q14 0 14 16t-12 18l-72 14z" fill="{g}"/><circle cx="300" cy="130" r="4" fill="{p}"/>'
        '<circle cx="332" cy="124" r="4" fill="{p}"/>'
    ),
    "bowl": (
        '<path d="M70 196h260q-2 108-84 132h-92Q72 304 70 196z" fill="{g}"/>'
        '<ellipse cx="200" cy="196" rx="130" ry="30" fill="{e}"/>'
        '<ellipse cx="200" cy="200" rx="112" ry="20" fill="{p}"/>'
        '<path d="M150 198q40-44 100-8 30 10 12 18-60 12-112-10z" fill="#f3e6c9"/>'
        '<path d="M262 184l70-86 12 10-62 88z" fill="{w}"/>'
    ),
    "lamp": (
        '<ellipse cx="168" cy="322" rx="70" ry="14" fill="{e}"/>'
        '<path d="M164 318l-34-110 118-74" stroke="{d}" stroke-width="9" fill="none" stroke-linejoin="round"/>'
        '<circle cx="130" cy="208" r="11" fill="{c}"/><path d="M226 92l74 34-22 74-92-46z" fill="{g}"/>'
        '<path d="M186 154l92 46-4 14-96-46z" fill="#ffe9a8"/>'
        '<path d="M178 168l96 46 40 110H120z" fill="#ffe9a8" opacity=".28"/>'
    ),
    "floorlamp": (
        '<path d="M196 150h8v170h-8z" fill="{d}"/><ellipse cx="200" cy="324" rx="62" ry="12" fill="{e}"/>'
        '<path d="M156 52h88l38 110H118z" fill="{g}"/>'
        '<path d="M118 162h164l20 150H98z" fill="#ffe9a8" opacity=".25"/><path d="M118 162h164l4 8H114z" fill="{e}"/>'
        '<path d="M242 166v44" stroke="{e}" stroke-width="2"/><circle cx="242" cy="214" r="5" fill="{w}"/>'
    ),
    "lantern": (
        '<path d="M160 96q40-62 80 0" stroke="{e}" stroke-width="8" fill="none"/>'
        '<path d="M138 118l24-26h76l24 26z" fill="{g}"/>'
        '<rect x="142" y="120" width="116" height="168" fill="#fff3cf"/>'
        '<path d="M200 250q-34-34 0-92 34 58 0 92z" fill="#f2a93b"/>'
        '<path d="M200 248q-14-18 0-48 14 30 0 48z" fill="#fff6d8"/>'
        '<path d="M142 120h10v168h-10zM248 120h10v168h-10zM196 120h8v20h-8z" fill="{d}"/>'
        '<path d="M128 288h144l14 42H114z" fill="{g}"/>'
    ),
    "bulb": (
        '<path d="M200 60q86 0 86 88 0 42-36 78-10 12-10 34h-80q0-22-10-34-36-36-36-78 0-88 86-88z" fill="{l}" '
        'opacity=".85"/><path d="M170 240q-8-60 14-84 16 40 32 0 22 24 14 84" stroke="#e08c2a" stroke-width="5" '
        'fill="none"/><path d="M162 260h76v44l-14 24h-48l-14-24z" fill="#9ca3a8"/>'
        '<path d="M162 274h76M162 288h76M164 302h72" stroke="#6f777c" stroke-width="4"/>'
        '<path d="M150 104q16-24 42-26" stroke="#fff" stroke-width="8" fill="none" stroke-linecap="round"/>'
    ),
    "cushion": (
        '<path d="M92 120q108-26 216 0 26 104 0 206-108 22-216 0-26-102 0-206z" fill="{g}"/>'
        '<path d="M112 140q88-18 176 0 18 84 0 166-88 16-176 0-18-82 0-166z" fill="none" stroke="{p}" '
        'stroke-width="4" stroke-dasharray="10 8"/><path d="M140 222l60-60 60 60-60 60z" fill="{a}" opacity=".75"/>'
        '<path d="M168 222l32-32 32 32-32 32z" fill="{p}"/>'
    ),
    "basket": (
        '<path d="M86 180h228l-28 138q-4 14-20 14H134q-16 0-20-14z" fill="{g}"/>'
        '<path d="M92 208h216M98 236h204M104 264h192M110 292h180" stroke="{d}" stroke-width="7" stroke-dasharray="18 '
        '12"/><path d="M92 222h216M100 250h200M106 278h188" stroke="{l}" stroke-width="6" stroke-dasharray="18 12" '
        'stroke-dashoffset="15"/><rect x="76" y="168" width="248" height="20" rx="10" fill="{d}"/>'
        '<path d="M130 168q0-84 70-84t70 84" stroke="{e}" stroke-width="10" fill="none"/>'
    ),
    "clock": (
        '<circle cx="200" cy="204" r="126" fill="{g}"/><circle cx="200" cy="204" r="104" fill="#fbf8f0"/>'
        '<path d="M200 112v16M200 280v16M108 204h16M276 204h16M135 139l11 11M254 258l11 11M135 269l11-11M254 '
        '150l11-11" stroke="{e}" stroke-width="6"/><path d="M200 204V138M200 204l46 28" stroke="{e}" '
        'stroke-width="9" stroke-linecap="round"/><path d="M200 204l-30 66" stroke="{a}" stroke-width="3"/>'
        '<circle cx="200" cy="204" r="9" fill="{d}"/>'
    ),
    "vase": (
        '<path d="M168 132h64q-6 40 26 80 40 60-8 118H150q-48-58-8-118 32-40 26-80z" fill="{g}"/>'
        '<ellipse cx="200" cy="132" rx="34" ry="9" fill="{e}"/>'
        '<path d="M196 130q-6-56-44-74M204 130q0-60 8-88M208 130q14-40 52-56" stroke="#6d8a5d" stroke-width="5" '
        'fill="none"/><circle cx="150" cy="54" r="15" fill="{a}"/><circle cx="212" cy="38" r="17" fill="{p}"/>'
        '<circle cx="262" cy="72" r="13" fill="{a}"/>'
        '<path d="M134 236q66 22 132 0v16q-66 22-132 0z" fill="{p}" opacity=".6"/>'
    ),
    "candle": (
        '<rect x="146" y="150" width="108" height="180" rx="10" fill="{g}"/>'
        '<ellipse cx="200" cy="152" rx="54" ry="14" fill="{p}"/>'
        '<path d="M200 152v-22" stroke="#3b3028" stroke-width="4"/>'
        '<path d="M200 132q-26-24 0-74 26 50 0 74z" fill="#f2a93b"/>'
        '<path d="M200 130q-10-12 0-36 10 24 0 36z" fill="#fff2c4"/>'
        '<rect x="160" y="210" width="80" height="62" fill="#fbf8f0"/>'
        '<path d="M172 230h56M172 244h56M180 258h40" stroke="{d}" stroke-width="4"/>'
    ),
    "backpack": (
        '<path d="M148 106q0-52 52-52t52 52" stroke="{e}" stroke-width="12" fill="none"/>'
        '<path d="M116 128q0-44 44-44h80q44 0 44 44v178q0 26-26 26H142q-26 0-26-26z" fill="{g}"/>'
        '<path d="M116 150q84 40 168 0v30q-84 40-168 0z" fill="{d}"/>'
        '<rect x="142" y="222" width="116" height="82" rx="14" fill="{l}"/>'
        '<path d="M142 248h116" stroke="{d}" stroke-width="5"/>'
        '<rect x="190" y="168" width="20" height="44" rx="4" fill="{a}"/>'
        '<path d="M104 180h14v108h-14zM282 180h14v108h-14z" fill="{e}"/>'
    ),
    "tent": (
        '<path d="M200 92L44 328h312z" fill="{g}"/><path d="M200 92l-52 236h104z" fill="{e}"/>'
        '<path d="M200 92l-66 236h34zM200 92l66 236h-34z" fill="{l}"/>'
        '<path d="M200 92v-22M44 328l-20 6M356 328l20 6" stroke="{d}" stroke-width="5"/>'
        '<path d="M200 70l30 9-30 9z" fill="{a}"/>'
    ),
    "flask": (
        '<rect x="146" y="130" width="108" height="200" rx="22" fill="{g}"/>'
        '<path d="M158 88h84l8 42H150z" fill="{e}"/><rect x="166" y="66" width="68" height="24" rx="8" fill="{d}"/>'
        '<path d="M168 150v156" stroke="#fff" stroke-width="8" opacity=".35" stroke-linecap="round"/>'
        '<path d="M176 222l24-34 24 34z" fill="{p}"/><path d="M164 236h72" stroke="{p}" stroke-width="5"/>'
    ),
    "torch": (
        '<path d="M78 216q0-92 122-92t122 92" stroke="{d}" stroke-width="22" fill="none"/>'
        '<path d="M78 216q-6 70 34 88M322 216q6 70-34 88" stroke="{d}" stroke-width="16" fill="none"/>'
        '<rect x="142" y="196" width="116" height="92" rx="20" fill="{g}"/>'
        '<circle cx="200" cy="242" r="36" fill="#e9eef0"/><circle cx="200" cy="242" r="24" fill="#fff2b8"/>'
        '<path d="M200 206v-8M236 242h8" stroke="{e}" stroke-width="4"/>'
        '<rect x="176" y="184" width="48" height="14" rx="6" fill="{a}"/>'
    ),
    "stove": (
        '<rect x="132" y="150" width="136" height="96" rx="10" fill="#b9c2c8"/>'
        '<rect x="132" y="150" width="136" height="20" fill="#8d979d"/>'
        '<path d="M266 176h70" stroke="#6d767b" stroke-width="10" stroke-linecap="round"/>'
        '<path d="M150 262q12-24 24 0 12-24 24 0 12-24 24 0 12-24 24 0" stroke="#e58a2c" stroke-width="8" '
        'fill="none"/><path d="M128 250h144" stroke="{e}" stroke-width="8"/>'
        '<rect x="158" y="268" width="84" height="62" rx="14" fill="{g}"/>'
        '<path d="M136 250l-20 82M264 250l20 82" stroke="{d}" stroke-width="7"/>'
    ),
    "trowel": (
        '<path d="M190 60h20l8 110h-36z" fill="{w}"/><path d="M192 168h16v34h-16z" fill="{e}"/>'
        '<path d="M154 200h92q10 82-46 132-56-50-46-132z" fill="#aab4ba"/>'
        '<path d="M200 208v112" stroke="#7d878d" stroke-width="5"/>'
        '<path d="M184 60q0-16 16-16t16 16v14h-32z" fill="{c}"/>'
        '<path d="M290 110q40 30 16 96-34-40-16-96z" fill="#7fa06c"/>'
        '<path d="M296 206q4-50-2-80" stroke="#56764a" stroke-width="3" fill="none"/>'
    ),
    "wateringcan": (
        '<path d="M120 168h140v142q0 20-20 20H140q-20 0-20-20z" fill="{g}"/>'
        '<path d="M256 280l82-122 16 8-78 140z" fill="{d}"/><path d="M322 146l50 26-12 18-46-26z" fill="{e}"/>'
        '<path d="M140 168q-6-84 60-84t66 84" stroke="{d}" stroke-width="12" fill="none"/>'
        '<path d="M122 200q-70-10-62 48 8 44 62 40" stroke="{d}" stroke-width="12" fill="none"/>'
        '<path d="M120 168h140v16H120z" fill="{e}"/>'
        '<path d="M366 206l4 14M384 192l8 12M350 214l-2 14" stroke="#6fa0c0" stroke-width="5"/>'
    ),
    "seeds": (
        '<path d="M118 76h164v256H118z" fill="#f7f1e0"/><path d="M118 76h164v54H118z" fill="{g}"/>'
        '<path d="M138 96h124M138 110h84" stroke="#fff" stroke-width="6"/>'
        '<path d="M200 300V196" stroke="#5d7f4c" stroke-width="6"/>'
        '<path d="M200 250q-52-6-52-46 46 0 52 46M200 226q52-6 52-46-46 0-52 46z" fill="#7fa06c"/>'
        '<circle cx="200" cy="176" r="24" fill="{c}"/><circle cx="200" cy="176" r="10" fill="{p}"/>'
        '<path d="M118 312h164v20H118z" fill="{d}"/>'
    ),
    "birdhouse": (
        '<path d="M126 176h148v150H126z" fill="{w}"/><path d="M200 84L96 180h208z" fill="{g}"/>'
        '<path d="M200 84L96 180h22l82-76 82 76h22z" fill="{d}"/><circle cx="200" cy="218" r="26" fill="#332a22"/>'
        '<path d="M200 262v0M176 264h48" stroke="{e}" stroke-width="9" stroke-linecap="round"/>'
        '<path d="M222 250q8-22 34-18 12 4 20 0-2 24-26 28-20 2-28-10z" fill="{a}"/>'
        '<circle cx="262" cy="240" r="3" fill="#111"/>'
    ),
    "headphones": (
        '<path d="M92 240q0-142 108-142t108 142" stroke="{d}" stroke-width="20" fill="none"/>'
        '<path d="M110 236q0-116 90-116t90 116" stroke="{l}" stroke-width="6" fill="none"/>'
        '<rect x="72" y="218" width="62" height="104" rx="28" fill="{g}"/>'
        '<rect x="266" y="218" width="62" height="104" rx="28" fill="{g}"/>'
        '<rect x="126" y="226" width="22" height="88" rx="11" fill="{e}"/>'
        '<rect x="252" y="226" width="22" height="88" rx="11" fill="{e}"/>'
    ),
    "speaker": (
        '<rect x="118" y="74" width="164" height="256" rx="18" fill="{g}"/>'
        '<circle cx="200" cy="240" r="62" fill="{e}"/><circle cx="200" cy="240" r="44" fill="#5b5f64"/>'
        '<circle cx="200" cy="240" r="16" fill="{l}"/><circle cx="200" cy="130" r="30" fill="{e}"/>'
        '<circle cx="200" cy="130" r="15" fill="#777c81"/><circle cx="262" cy="94" r="5" fill="{a}"/>'
    ),
    "radio": (
        '<path d="M286 150l44-96" stroke="#8a9297" stroke-width="6" stroke-linecap="round"/>'
        '<rect x="62" y="148" width="276" height="180" rx="26" fill="{g}"/>'
        '<circle cx="142" cy="238" r="58" fill="{e}"/>'
        '<path d="M108 214h68M98 232h88M98 250h88M110 268h64" stroke="{l}" stroke-width="5"/>'
        '<rect x="222" y="176" width="92" height="46" rx="8" fill="#f6edd2"/>'
        '<path d="M230 200h76" stroke="#8a7c5a" stroke-width="3"/>'
        '<path d="M262 184v30" stroke="#c0392b" stroke-width="4"/><circle cx="244" cy="270" r="20" fill="{p}"/>'
        '<circle cx="296" cy="270" r="20" fill="{p}"/>'
    ),
    "cable": (
        '<path d="M110 240q0-90 90-90t90 90-90 84-74-76 74-68 58 62-58 50" stroke="{c}" stroke-width="14" '
        'fill="none"/><path d="M110 240v-96" stroke="{c}" stroke-width="14"/>'
        '<rect x="94" y="92" width="32" height="58" rx="8" fill="{e}"/>'
        '<rect x="100" y="66" width="20" height="30" rx="4" fill="#b4bcc1"/>'
        '<path d="M182 248l-8 64" stroke="{c}" stroke-width="14"/>'
        '<rect x="146" y="288" width="52" height="34" rx="8" fill="{e}"/>'
        '<rect x="118" y="296" width="30" height="18" rx="4" fill="#b4bcc1"/>'
    ),
    "jumper": (
        '<path d="M140 92q60 34 120 0l52 30 42 150-44 14-34-92v136H124V194l-34 92-44-14 42-150z" fill="{g}"/>'
        '<path d="M156 92q44 26 88 0l-8 30q-36 16-72 0z" fill="{d}"/>'
        '<path d="M124 200l19-16 19 16 19-16 19 16 19-16 19 16 19-16 19 16M124 226l19-16 19 16 19-16 19 16 19-16 19 '
        '16 19-16 19 16" stroke="{p}" stroke-width="6" fill="none"/><path d="M124 310h152v20H124z" fill="{d}"/>'
    ),
    "shirt": (
        '<path d="M150 84l50 22 50-22 62 34 34 92-46 20-24-52v152H124V178l-24 52-46-20 34-92z" fill="{g}"/>'
        '<path d="M150 84l50 22-26 40zM250 84l-50 22 26 40z" fill="{p}"/>'
        '<path d="M200 110v220" stroke="{d}" stroke-width="4"/><circle cx="208" cy="160" r="4" fill="{e}"/>'
        '<circle cx="208" cy="204" r="4" fill="{e}"/><circle cx="208" cy="248" r="4" fill="{e}"/>'
        '<circle cx="208" cy="292" r="4" fill="{e}"/>'
        '<path d="M222 176h38v40h-38z" fill="none" stroke="{d}" stroke-width="4"/>'
    ),
    "jacket": (
        '<path d="M146 96q-4-50 54-50t54 50l58 32 36 150-44 14-30-92v132H126V200l-30 92-44-14 36-150z" fill="{g}"/>'
        '<path d="M156 100q0-36 44-36t44 36q-44 30-88 0z" fill="{e}"/>'
        '<path d="M200 122v210" stroke="{e}" stroke-width="6"/>'
        '<path d="M140 244h44v44h-44zM216 244h44v44h-44z" fill="{d}"/>'
        '<path d="M140 244h44v10h-44zM216 244h44v10h-44z" fill="{l}"/>'
    ),
    "boot": (
        '<path d="M130 80h98v122q18 30 84 42 30 8 30 46v16H130z" fill="{g}"/>'
        '<path d="M122 304h224v20q0 10-10 10H132q-10 0-10-10z" fill="{e}"/><path d="M130 80h98v22h-98z" fill="{d}"/>'
        '<path d="M178 130h52M178 154h54M184 178h52M198 202h48" stroke="{p}" stroke-width="6" '
        'stroke-linecap="round"/><path d="M130 250q50 20 90 8" stroke="{d}" stroke-width="4" fill="none"/>'
    ),
    "hat": (
        '<path d="M98 250q0-136 102-136t102 136z" fill="{g}"/><path d="M88 246h224v58q-112 26-224 0z" fill="{d}"/>'
        '<path d="M112 250v58M140 252v62M170 254v64M200 254v66M230 254v64M260 252v62M288 250v58" stroke="{l}" '
        'stroke-width="5"/><circle cx="200" cy="100" r="32" fill="{a}"/>'
        '<path d="M120 206q80-30 160 0" stroke="{p}" stroke-width="7" fill="none" stroke-dasharray="12 8"/>'
    ),
    "sock": (
        '<path d="M150 62h90v140q0 18 30 40l46 34q26 26 2 46-22 16-50 2l-96-56q-22-14-22-44z" fill="{g}"/>'
        '<path d="M150 62h90v34h-90z" fill="{d}"/><path d="M150 120h90M150 148h90" stroke="{p}" stroke-width="10"/>'
        '<path d="M290 264q34 20 26 50-14 22-48 10z" fill="{a}"/>'
        '<path d="M146 220q34 0 46 40-22 0-40-14z" fill="{d}"/>'
    ),
    "teatin": (
        '<rect x="118" y="116" width="164" height="214" rx="10" fill="{g}"/>'
        '<rect x="128" y="74" width="144" height="44" rx="10" fill="{d}"/>'
        '<rect x="140" y="160" width="120" height="126" rx="6" fill="#f8f2e2"/>'
        '<path d="M200 264q-42-20-30-74 46 14 30 74zM200 264q42-20 30-74-46 14-30 74z" fill="#7fa06c"/>'
        '<path d="M200 270v-60" stroke="#56764a" stroke-width="4"/>'
        '<path d="M118 304h164" stroke="{l}" stroke-width="5"/>'
    ),
    "coffeebag": (
        '<path d="M120 96l16-24h128l16 24v218q0 18-18 18H138q-18 0-18-18z" fill="{g}"/>'
        '<path d="M120 96h160v26H120z" fill="{d}"/><rect x="146" y="160" width="108" height="126" fill="#f8f2e2"/>'
        '<ellipse cx="186" cy="220" rx="22" ry="32" fill="#5a3a25" transform="rotate(24 186 220)"/>'
        '<path d="M178 192q16 30 12 58" stroke="#c9a27a" stroke-width="4" fill="none"/>'
        '<ellipse cx="224" cy="238" rx="16" ry="24" fill="#6d472d" transform="rotate(-30 224 238)"/>'
        '<circle cx="200" cy="140" r="7" fill="{l}"/>'
    ),
    "jar": (
        '<path d="M126 146q0-20 20-20h108q20 0 20 20v164q0 20-20 20H146q-20 0-20-20z" fill="#e9f0ef"/>'
        '<path d="M136 174h128v132q0 14-14 14H150q-14 0-14-14z" fill="{g}"/>'
        '<rect x="134" y="84" width="132" height="46" rx="8" fill="{a}"/>'
        '<path d="M146 96v24M166 96v24M186 96v24M206 96v24M226 96v24M246 96v24" stroke="#fff" stroke-width="3" '
        'opacity=".5"/><rect x="150" y="204" width="100" height="76" rx="6" fill="#fbf7ea"/>'
        '<path d="M200 222l16 10v18l-16 10-16-10v-18z" fill="{c}"/>'
    ),
    "biscuits": (
        '<rect x="84" y="186" width="232" height="144" rx="12" fill="{g}"/>'
        '<rect x="84" y="168" width="232" height="34" rx="10" fill="{d}"/>'
        '<circle cx="150" cy="140" r="44" fill="#d9a866"/><circle cx="236" cy="132" r="48" fill="#c88f4c"/>'
        '<circle cx="140" cy="130" r="5" fill="#6b4220"/><circle cx="162" cy="150" r="5" fill="#6b4220"/>'
        '<circle cx="226" cy="120" r="5" fill="#6b4220"/><circle cx="250" cy="142" r="5" fill="#6b4220"/>'
        '<rect x="128" y="224" width="144" height="76" rx="6" fill="#f8f2e2"/>'
        '<path d="M150 250h100M164 272h72" stroke="{d}" stroke-width="6"/>'
    ),
    "book": (
        '<path d="M112 70h168q14 0 14 14v232q0 14-14 14H112q-14 0-14-14V84q0-14 14-14z" fill="{g}"/>'
        '<path d="M98 84q0-14 14-14h14v260h-14q-14 0-14-14z" fill="{e}"/>'
        '<rect x="150" y="104" width="120" height="78" fill="{p}"/>'
        '<path d="M164 128h92M164 150h64" stroke="{e}" stroke-width="8"/>'
        '<path d="M150 300q30-74 60-20 24-52 60 20z" fill="{a}"/><circle cx="248" cy="222" r="16" fill="{p}"/>'
        '<path d="M294 92l10 6v230q0 10-10 10H116l-6-8h184z" fill="#f3ecdc"/>'
    ),
    "notebook": (
        '<rect x="110" y="76" width="176" height="254" rx="12" fill="{g}"/>'
        '<path d="M110 88q0-12 12-12h18v254h-18q-12 0-12-12z" fill="{d}"/>'
        '<path d="M262 76v254" stroke="{a}" stroke-width="8"/>'
        '<rect x="160" y="126" width="82" height="48" rx="4" fill="{p}"/>'
        '<path d="M172 144h58M172 158h38" stroke="{e}" stroke-width="4"/>'
        '<path d="M208 330v22l7-8 7 8v-22z" fill="{a}"/><path d="M286 92h8v226h-8z" fill="#f3ecdc"/>'
    ),
    "pen": (
        '<g transform="rotate(38 200 200)"><rect x="184" y="40" width="32" height="118" rx="14" fill="{d}"/>'
        '<rect x="180" y="150" width="40" height="120" rx="8" fill="{g}"/>'
        '<rect x="180" y="152" width="40" height="10" fill="#d8b866"/><path d="M186 270h28l-14 56z" fill="#d8b866"/>'
        '<path d="M200 280v34" stroke="#6b5420" stroke-width="3"/>'
        '<rect x="212" y="60" width="7" height="70" rx="3" fill="#d8b866"/>'
        '</g><path d="M70 330q50-30 90-6t70-8" stroke="{e}" stroke-width="5" fill="none"/>'
    ),
    "boardgame": (
        '<path d="M70 210l130-62 130 62-130 66z" fill="{p}"/><path d="M70 210l130 66v50L70 258z" fill="{c}"/>'
        '<path d="M330 210l-130 66v50l130-68z" fill="{d}"/><path d="M102 210l98-47 98 47-98 50z" fill="{l}"/>'
        '<path d="M135 210l66-32 64 32-64 34z" fill="{a}" opacity=".8"/><circle cx="170" cy="140" r="15" fill="{e}"/>'
        '<path d="M150 190q4-46 20-46t20 46z" fill="{e}"/>'
        '<rect x="228" y="150" width="42" height="42" rx="8" fill="#fff"/><circle cx="240" cy="162" r="4"/>'
        '<circle cx="249" cy="171" r="4"/><circle cx="258" cy="180" r="4"/>'
    ),
    "puzzle": (
        '<path d="M84 120h92q-12-40 24-40t24 40h92v84q40-12 40 24t-40 24v78H84v-78q-34 10-34-24t34-24z" fill="{g}"/>'
        '<path d="M200 120v76q-30-8-30 14t30 14v106M84 228h86M230 228h86" stroke="{e}" stroke-width="4" fill="none"/>'
        '<path d="M100 300q40-60 80-20 40-60 120 30H100z" fill="{a}" opacity=".7"/>'
        '<circle cx="262" cy="166" r="20" fill="{p}"/>'
    ),
    "blocks": (
        '<rect x="84" y="246" width="86" height="86" rx="8" fill="{c}"/>'
        '<rect x="178" y="246" width="86" height="86" rx="8" fill="{a}"/>'
        '<rect x="132" y="156" width="86" height="86" rx="8" fill="{w}"/><path d="M272 332h78l-39-86z" fill="{d}"/>'
        '<circle cx="175" cy="112" r="42" fill="{g}"/>'
        '<path d="M112 310l16-44 16 44M118 296h20" stroke="#fff" stroke-width="7" fill="none"/>'
        '<circle cx="221" cy="289" r="22" fill="none" stroke="#fff" stroke-width="7"/>'
        '<path d="M160 178v42h32" stroke="#fff" stroke-width="7" fill="none"/>'
    ),
}
