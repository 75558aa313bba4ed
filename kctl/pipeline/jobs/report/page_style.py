"""The style of the page of a report: one column on a telephone, more where there is room; light, dark, printed.

Paper is always light, and has what is folded on a screen. Shown by tests/pipeline/test_report_page.py.
"""

STYLE = """
:root{--ink:#1c2733;--soft:#5b6876;--line:#d9dfe5;--paper:#fff;--card:#f6f8fa;--accent:#0b5cad;--warn:#8a4b00;
--bad:#a3172b}
@media screen and (prefers-color-scheme:dark){
:root{--ink:#e6ebf0;--soft:#9aa7b4;--line:#36414c;--paper:#14191f;--card:#1d242c;
--accent:#7cb8f5;--warn:#f0b36a;--bad:#ff8d98}}
*{box-sizing:border-box}
body{margin:0 auto;padding:16px;max-width:1120px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:.2em 0}
h2{font-size:1.15rem;margin:1.8em 0 .4em;padding-top:.8em;
border-top:1px solid var(--line)}
h3{font-size:1rem;margin:0 0 .3em}
p{margin:.4em 0}
header p,.small,.tick{color:var(--soft)}
.small{font-size:.85rem}
.places{display:grid;grid-template-columns:1fr;gap:10px;margin:.6em 0}
.place,.node{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px}
.place{padding:10px 0 4px}
.place h3,.place .limits{padding:0 12px}
.node{margin:8px 0}
.node em{font-style:normal;color:var(--bad);border:1px solid;border-radius:4px;padding:0 5px;font-size:.8rem}
.limits{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:6px 18px;margin:0 0 6px}
.limits dt{font:.85rem ui-monospace,"DejaVu Sans Mono",monospace;color:var(--soft)}
.limits dd{margin:0;font-size:1.25rem;font-weight:600}
.limits dd.small{font-size:.8rem;font-weight:400}
.legend{font-size:.85rem}
.key{white-space:nowrap;margin-right:14px}
.key svg{vertical-align:-1px}
figure{margin:.8em 0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:8px 0}
figcaption{padding:0 12px 6px;font-size:.85rem;color:var(--soft)}
svg.plot{display:block;overflow:hidden}
.tick{font-size:11px;fill:var(--soft)}
.grid{stroke:var(--line);stroke-width:1}
.span{stroke:var(--accent);stroke-width:4;stroke-opacity:.35}
.slowest{stroke:var(--accent);stroke-width:2}
.limit{stroke:var(--bad);stroke-width:3}
.dot{fill:var(--accent)}
.ring{fill:var(--card);stroke:var(--accent);stroke-width:2}
.diamond{fill:var(--card);stroke:var(--accent);stroke-width:2}
.curve{fill:none;stroke:var(--accent);stroke-width:2}
.bar{stroke:var(--accent);stroke-width:1}
.ink{fill:var(--accent)}
.hatch{stroke:var(--accent);stroke-width:1.3;fill:none}
.frame{fill:none;stroke:var(--line)}
.share{fill:var(--bad)}
.findings{list-style:none;padding:0;margin:0}
.findings li{padding:8px 0 8px 12px;border-left:4px solid var(--line);margin:6px 0}
.findings .error{border-color:var(--bad);border-left-style:double;border-left-width:6px}
.findings .warning{border-color:var(--warn)}
.findings .note{border-left-style:dotted}
.severity{font-weight:700}
.error .severity{color:var(--bad)}
.warning .severity{color:var(--warn)}
.hint{display:block}
code{font:.85em ui-monospace,"DejaVu Sans Mono",monospace;background:var(--card);padding:0 4px;border-radius:4px}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:4px 10px 4px 0;
border-bottom:1px solid var(--line);vertical-align:top}
details{margin-top:4px}
summary{cursor:pointer;font-size:.85rem;color:var(--soft)}
@media(min-width:900px){.node{display:grid;grid-template-columns:280px 1fr;column-gap:16px}
.node>*{grid-column:2}
.node>h3{grid-column:1;grid-row:1/span 4}}
@media(max-width:560px){.certificates,.certificates tbody,.certificates tr,.certificates td{display:block}
.certificates th{display:none}
.certificates td{border:0;padding:0}
.certificates tr{border-bottom:1px solid var(--line);padding:6px 0}}
@media print{body{max-width:none;padding:0}
.place,.node,figure,.findings li,tr{break-inside:avoid}
h2,h3{break-after:avoid}
details::details-content{content-visibility:visible;block-size:auto}
summary{list-style:none}}
"""
