/**
 * The page's only style sheet. Series differ in lightness too, in a fixed order, for readers with colour vision
 * deficiency: the palette has a contrast of at least 3:1 with the page, text of at least 4.5:1.
 */
export const style = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --ink: #1c2126; --soft: #59626b; --rule: #dfe3e7; --band: #f5f7f9; --link: #17529c;
  --good: #17633f; --bad: #a51d2d; --warn-page: #fdf6e7; --warn-rule: #e5c88a;
  --sales: #17366f; --promotions: #528fc6; --fees: #a8542b; --taxes: #889096; --refunds: #560c1c;
  --reimbursements: #1a615a; --left: #17366f;
  --day-full: #3f7d6b; --day-full-edge: #3f7d6b; --day-empty: #e3eeea; --day-empty-edge: #3f7d6b;
    --day-forgotten: #e3eeea; --day-forgotten-edge: #3f7d6b;
  --day-partial: #f6dfae; --day-partial-edge: #8a6410; --day-imported: #d7e5f5; --day-imported-edge: #38618f;
  --day-missing: #ffffff; --day-missing-edge: #a51d2d;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #17191c; --ink: #e4e7ea; --soft: #a2abb4; --rule: #33383e; --band: #1f2226; --link: #8fbcf0;
    --good: #6fcf9f; --bad: #ff8d8d; --warn-page: #2a2416; --warn-rule: #6a5521;
    --sales: #a3caf2; --promotions: #3577a5; --fees: #ea8740; --taxes: #9a9a9a; --refunds: #cc2a52;
    --reimbursements: #4ce0a3; --left: #a3caf2;
    --day-full: #4f9a84; --day-full-edge: #4f9a84; --day-empty: #20332e; --day-empty-edge: #4f9a84;
    --day-forgotten: #20332e; --day-forgotten-edge: #4f9a84;
    --day-partial: #4a3a12; --day-partial-edge: #d9ac4a; --day-imported: #1f3550; --day-imported-edge: #7fa9d8;
    --day-missing: #17191c; --day-missing-edge: #ff8d8d;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body {
  margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 66rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; overflow-wrap: break-word;
}
h1, h2, h3, h4 { line-height: 1.2; font-weight: 600; text-wrap: balance; }
h1 { font-size: 1.9rem; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.5rem; margin: 3.5rem 0 1rem; padding-top: 1rem; border-top: 3px solid var(--ink); }
h2.small { font-size: 1.3rem; border: 0; margin: 0 0 1rem; padding: 0; }
h3 { font-size: 1.3rem; margin: 0 0 1.2rem; }
h3 small { font-weight: 400; color: var(--soft); font-size: 1rem; margin-left: .3rem; }
h4 { font-size: 1.02rem; margin: 2.4rem 0 .8rem; }
p { margin: .6rem 0; max-width: 44rem; }
a { color: var(--link); text-underline-offset: .15em; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
bdi, code { overflow-wrap: anywhere; }
code { font: .86em/1.4 ui-monospace, 'SF Mono', Menlo, Consolas, monospace; }
pre { padding: .8rem 1rem; background: var(--band); overflow-x: auto; border-radius: 4px; }
.lead, .note, figcaption, .none { color: var(--soft); }
.note, figcaption { font-size: .88rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--page); padding: .5rem 1rem; }
.spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
nav ul, .keys { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; padding: 0; margin: .6rem 0; }
nav { font-size: .93rem; margin-top: 1.4rem; padding: .7rem 0; border: solid var(--rule); border-width: 1px 0; }
nav ul { margin: 0; }
.chapter { margin-top: 3rem; padding-top: 1.4rem; border-top: 1px solid var(--rule); scroll-margin-top: 1rem; }
.look { background: var(--warn-page); border: 1px solid var(--warn-rule); border-radius: 6px; padding: .9rem 1.2rem; margin: 1.6rem 0; }
.look h3 { font-size: 1rem; margin: 0 0 .4rem; }
.look ul { margin: 0; padding-left: 1.2rem; }
.well { margin: 1.4rem 0; }
.well .sign { color: var(--good); font-weight: 700; }
.fault { color: var(--bad); }
.scroll { overflow-x: auto; margin: .8rem 0 1.4rem; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums lining-nums; }
caption { text-align: left; color: var(--soft); font-size: .85rem; padding-bottom: .4rem; }
th, td { padding: .34rem .48rem; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--rule); font-weight: 400; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: .8rem; vertical-align: bottom; border-bottom-color: var(--soft); }
td.n, th.n { text-align: right; overflow-wrap: normal; }
td.n { white-space: nowrap; }
tfoot th, tfoot td { font-weight: 600; border-top: 1px solid var(--soft); border-bottom: 3px double var(--soft); }
td bdi, th bdi { display: inline-block; min-width: min(8rem, 100%); max-width: 22rem; }
td code bdi { max-width: 30rem; }
span.narrow { display: none; }
td .note bdi, .payout bdi { display: inline; }
tbody th { min-width: 6.2rem; }
.settlements > tbody > tr:first-child > * { border-bottom: 0; padding-top: .55rem; }
/* As wide as the figures above it and no wider: its own tables scroll by themselves. */
.settlements > tbody > .more > td { padding: 0 0 .45rem; max-width: 0; }
.rounded { text-decoration: underline dotted; text-underline-offset: .2em; cursor: help; }
.verdict, .date { white-space: nowrap; }
.v-adds-up .verdict, .good { color: var(--good); }
.v-differs .verdict, .bad { color: var(--bad); font-weight: 600; white-space: normal; }
.v-open .verdict, .v-not-loaded .verdict, .v-forgotten .verdict { color: var(--soft); }
summary { cursor: pointer; color: var(--link); font-size: .85rem; width: fit-content; padding: .1rem .3rem .1rem 0; }
details[open] > summary { margin-bottom: .6rem; }
.settlements details[open] { background: var(--band); border-left: 3px solid var(--rule); padding: .5rem .9rem; }
.settlements details p { margin: .3rem 0; font-size: .88rem; }
.settlements details table { font-size: .84rem; }
figure { margin: .6rem 0 1rem; }
.chart { display: block; width: 100%; height: auto; color: var(--ink); font-family: inherit; font-size: 12px; font-variant-numeric: tabular-nums; }
.chart.narrow { display: none; }
.calendar .chart.wide { max-width: 45rem; }
.calendar .chart.narrow { font-size: 9px; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px; }
.keys { font-size: .88rem; }
.keys li { display: flex; align-items: center; }
.key.sales { background: var(--sales); } .key.promotions { background: var(--promotions); }
.key.fees { background: var(--fees); } .key.taxes { background: var(--taxes); }
.key.refunds { background: var(--refunds); } .key.reimbursements { background: var(--reimbursements); }
.key.net { background: var(--ink); transform: rotate(45deg) scale(.8); border-radius: 0; }
[class*='key day-'] { width: 1.25em; height: 1.25em; font-size: .78rem; line-height: 1.2em; text-align: center; font-weight: 600; border: 1px solid; }
.day-full { background: var(--day-full); border-color: var(--day-full-edge); }
.day-empty { background: var(--day-empty); border-color: var(--day-empty-edge); }
.day-forgotten { background: var(--day-forgotten); border-color: var(--day-forgotten-edge); }
.day-partial { background: var(--day-partial); border-color: var(--day-partial-edge); }
.day-imported { background: var(--day-imported); border-color: var(--day-imported-edge); }
.day-missing { background: var(--day-missing); border-color: var(--day-missing-edge); }
dl { font-size: .9rem; display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; max-width: 50rem; }
dt { font-weight: 600; }
dd { margin: 0; color: var(--soft); }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--rule); color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) {
  body { padding: 1.4rem 1rem 3rem; }
  h1 { font-size: 1.5rem; }
  .chart.wide { display: none; }
  .chart.narrow { display: block; }
  .x { display: none; }
  dl { grid-template-columns: 1fr; gap: .1rem; }
  dd { margin-bottom: .5rem; }
  th, td { padding: .3rem .4rem; }
  .verdict { white-space: normal; }
  tbody th { min-width: 5.4rem; }
  td bdi, th bdi { min-width: 8.5rem; }
  .settlements { font-size: .82rem; }
  .settlements .verdict { display: inline-block; vertical-align: top; min-width: 5rem; overflow-wrap: anywhere; }
  .settlements details[open] { padding: .4rem .5rem; }
  thead th.n { white-space: nowrap; }
  .settlements > thead th { white-space: normal; }
}
@media screen and (max-width: 40rem) {
  .scroll { container-type: inline-size; }
  caption { max-width: 100cqi; }
  span.narrow { display: block; }
  /* The description of a line is below it. */
  [id$='-bank'] tr { display: flex; flex-wrap: wrap; border-bottom: 1px solid var(--rule); }
  [id$='-bank'] tr > * { border: 0; }
  [id$='-bank'] tr > :first-child { flex: 1; }
  [id$='-bank'] td.x { display: block; flex: 0 0 100%; padding: 0 0 .3rem; color: var(--soft); }
  [id$='-bank'] td.x:empty { display: none; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
@media print {
  :root {
    color-scheme: light;
    --ink: #000000; --soft: #444444; --rule: #cccccc; --band: #ffffff; --link: #000000;
    --warn-page: #ffffff; --warn-rule: #999999;
  }
  @page { margin: 16mm 14mm; @bottom-right { content: counter(page) ' / ' counter(pages); font: 8pt system-ui, sans-serif; color: #444444; } }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  nav, .skip { display: none; }
  a { text-decoration: none; }
  .scroll { overflow: visible; }
  /* The page is narrower than what the charts are drawn for. */
  .chart.wide { display: block; font-size: 14px; overflow: visible; }
  .chart.narrow { display: none; }
  td.x, th.x { display: table-cell; }
  span.x { display: inline; }
  .rounded { text-decoration: none; }
  .rounded::after { content: ' (' attr(title) ')'; color: var(--soft); font-size: .8em; }
  .chart, .key { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2, h3, h4, caption, thead, dt, summary, .settlements > tbody:has([open]) > tr:first-child { break-after: avoid; }
  figure, tr:not(.more), section:is([id$='-months'], [id$='-hundred'], [id$='-refunds'], [id$='-bank']) > .scroll { break-inside: avoid; }
  tfoot, tfoot tr { break-before: avoid; }
  /* No page begins or ends with a row or two of a table. */
  tbody > tr:nth-child(-n+3):not(:last-child) { break-after: avoid; }
  tbody > tr:nth-last-child(-n+3):not(:first-child) { break-before: avoid; }
  /* Sums are at the end of a table, not at the end of each page of it. */
  tfoot { display: table-row-group; }
  .chapter { margin-top: 1.6rem; }
  main > section + section { break-before: page; }
  h4 { margin: 1.3rem 0 .5rem; }
  figure { margin: .3rem 0 .6rem; }
  section[id$='-months'] .chart.wide, section[id$='-refunds'] .chart.wide { max-height: 62mm; font-size: 16px; }
  footer { margin-top: 1.2rem; break-before: avoid; }
  th, td { padding: .22rem .4rem; }
  .settlements > tbody > tr:first-child > * { border-bottom: 1px solid var(--rule); padding-top: .22rem; }
  .settlements > tbody > .more:not(:has([open])) { display: none; }
  details:not([open]) { display: none; }
}
`;
