"""Style sheet of the page of a report: light, dark, narrow and printed."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --ink: #1b1b1b; --gray: #555555; --grid: #dddddd; --card: #f5f6f8;
  --link: #0058a3; --alert: #8a2b00;
  --color-0: #0072b2; --color-1: #d55e00; --color-2: #009e73; --color-3: #cc79a7;
  --color-4: #e69f00; --color-5: #56b4e9; --color-6: #b8a800;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15181c; --ink: #e8e8e8; --gray: #aab0b8; --grid: #3a3f46; --card: #1e2228;
    --link: #7cc0ff; --alert: #ffb08a;
    --color-0: #4ba3e3; --color-1: #ff8b3d; --color-2: #2fc79a; --color-3: #e39cc5;
    --color-4: #f0b433; --color-5: #8fd0f7; --color-6: #f0e442;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 76rem;
  font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
}
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem; }
p, li { max-width: 48rem; overflow-wrap: anywhere; }
a, summary { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; padding: 0; list-style: none; }
nav a { display: inline-block; padding: 0.25rem 0; }
.note { color: var(--gray); font-size: 0.9rem; }
.alert { border-left: 4px solid var(--alert); padding-left: 0.75rem; color: var(--alert); }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.6rem; text-align: right; border-bottom: 1px solid var(--grid); }
td, thead th { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.text { text-align: left; white-space: normal; min-width: 12rem; overflow-wrap: anywhere; }
tbody th { font-weight: normal; white-space: nowrap; position: sticky; left: 0;
  background: var(--page); }
tr.other { color: var(--gray); }
.figures { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); }
figure { margin: 0; padding: 0.75rem; background: var(--card); border-radius: 0.5rem;
  min-width: 0; --page: var(--card); }
figure svg { display: block; width: 100%; height: auto; max-width: 30rem; margin: 0 auto;
  fill: currentColor; stroke-linejoin: round; stroke-linecap: butt; }
figure svg text { font-family: "DejaVu Sans", Verdana, sans-serif; }
figcaption { font-size: 0.85rem; color: var(--gray); overflow-wrap: anywhere; }
summary { cursor: pointer; padding: 0.25rem 0; }
code { font-size: 0.9em; overflow-wrap: anywhere; }
@media print {
  :root {
    --page: #ffffff; --ink: #000000; --gray: #444444; --grid: #cccccc; --card: #ffffff;
    --link: #000000; --alert: #000000;
    --color-0: #0072b2; --color-1: #d55e00; --color-2: #009e73; --color-3: #cc79a7;
    --color-4: #e69f00; --color-5: #56b4e9; --color-6: #b8a800;
  }
  body { max-width: none; padding: 0; font-size: 0.85rem; }
  nav { display: none; }
  .scroll { overflow: visible; }
  td, thead th, tbody th { white-space: normal; }
  table { font-size: 0.75rem; }
  th, td { padding: 0.15rem 0.3rem; }
  figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  .figures { grid-template-columns: repeat(2, 1fr); }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
