import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { database } from '../app/lake-run.js';
import { reported, reportedItems, shown } from '../app/report/reported-lake.js';
import { loadedLake, type LoadedLake } from '../app/verify/loaded-lake.js';
import { smallBackend } from '../app/verify/small-backend.js';
import { opened, startBrowser } from './chromium.js';

let browser: Browser;
let lake: LoadedLake;
let folder: string;
let file: string;

beforeAll(async () => {
  // A type that is known: Reimbursements is the longest name in a chart.
  const items = reportedItems().map((item) => ({ ...item, json: item.json.replace('"X"', '"WAREHOUSE_LOST"') }));
  lake = await loadedLake(smallBackend(items), [{}]);
  folder = await mkdtemp(join(tmpdir(), 'ledgerlake-browser-'));
  file = join(folder, 'report.html');
  writeFileSync(file, (await reported(lake)).html);
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
  lake.remove();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

const open = (options?: Parameters<typeof opened>[2]) => opened(browser, file, options);

test('the page asks for nothing and the console stays empty', async () => {
  const { page, requests, complaints } = await open();
  await page.waitForLoadState('networkidle');
  expect([requests, complaints]).toEqual([[], []]);
  // The policy really is in force: neither a script nor a style of somebody else's runs.
  const policy = await page.locator('meta[http-equiv=Content-Security-Policy]').getAttribute('content');
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(await page.evaluate(`getComputedStyle(document.querySelector('td.n')).textAlign`)).toBe('right');
  await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<p id="intruder" style="color: red">x</p>')`);
  expect(await page.evaluate(`getComputedStyle(document.querySelector('#intruder')).color`)).not.toBe('rgb(255, 0, 0)');
  expect(complaints.join()).toContain('Content Security Policy');
});

test('figures on the page are those of SQL', async () => {
  const { page } = await open();
  const rows = await (
    await database(lake.root, lake.clock)
  ).rows(
    "SELECT currency, month, sum(amount) FILTER (kind <> 'loan')::VARCHAR AS earned FROM entries WHERE role = 'net' " +
      'GROUP BY ALL ORDER BY ALL',
  );
  expect(rows).toHaveLength(4);
  for (const { currency, month, earned } of rows) {
    const chapter = page.locator('section.chapter', { has: page.locator('h3', { hasText: String(currency) }) });
    const row = chapter.locator('section[id$=-months] tr', { has: page.locator('th', { hasText: String(month) }) });
    expect(await row.locator('td').first().innerText()).toBe(shown(earned, String(currency)));
  }
});

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  test('text stands out from the page by 4.5 to 1, bars by 3 to 1', async () => {
    const { page } = await open({ colorScheme });
    const contrastsOf = (selector: string, property: string) =>
      page.evaluate<number[]>(`(${contrasts})(${JSON.stringify(selector)}, ${JSON.stringify(property)})`);
    const texts = await contrastsOf('h1, p, td, th, caption, a, summary, li, figcaption, dd, .verdict, text', 'color');
    expect(texts.length).toBeGreaterThan(100);
    expect(Math.min(...texts)).toBeGreaterThan(4.5);
    const bars = await contrastsOf('section[id$=-months] rect, section[id$=-hundred] rect', 'fill');
    expect(bars.length).toBeGreaterThan(10);
    expect(Math.min(...bars)).toBeGreaterThan(3);
  });
});

/** Runs in the page: how an element's colour stands out from the background behind it. */
const contrasts = `(selector, property) => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let of = element; of; of = of.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(of).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll(selector)].map((element) => {
    const [one, other] = [light(parse(getComputedStyle(element)[property])), light(behind(element))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  });
}`;

test.each([360, 320])('a page of %i pixels never scrolls sideways, also with everything open', async (width) => {
  const { page } = await open({ viewport: { width, height: 740 } });
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => { details.open = true })`);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  // Whether settlements add up is seen without scrolling, however wide the tables of their entries are.
  const tables = await page.evaluate<{ wide: number; room: number }[]>(
    `[...document.querySelectorAll('.settlements')].map((of) => ({ wide: of.offsetWidth, room: of.parentElement.clientWidth }))`,
  );
  expect(tables).toHaveLength(3);
  for (const { wide, room } of tables) expect(wide).toBeLessThanOrEqual(room);
  // A chart for this width stands in the place of the wide one.
  const chart = page.locator('section[id$=-months] svg');
  expect([await chart.nth(0).isVisible(), await chart.nth(1).isVisible()]).toEqual([false, true]);
});

test('a narrow page cuts no caption, leaves no band in headings, and says elsewhere what its columns do not', async () => {
  const { page } = await open({ viewport: { width: 360, height: 740 } });
  const captions = await page.evaluate<{ wide: number; room: number }[]>(
    `[...document.querySelectorAll('section.chapter > section > .scroll > table > caption')].map((of) => ({ wide: of.offsetWidth, room: of.closest('.scroll').clientWidth }))`,
  );
  expect(captions.length).toBeGreaterThan(10);
  for (const { wide, room } of captions) expect(wide).toBeLessThanOrEqual(room);
  const heads = await page.evaluate<number[]>(
    `[...document.querySelectorAll('[id$=-months] thead, [id$=-skus] thead, [id$=-fees] thead')].map((of) => of.offsetHeight)`,
  );
  expect(Math.max(...heads)).toBeLessThan(40);
  const meaning = page.locator('[id$=-bank] td.x').first();
  const failed = page.getByText('payout failed');
  const label = page.locator('[id$=-hundred] svg.narrow text', { hasText: /^Reimbursements$/ });
  expect(await meaning.isVisible()).toBe(true);
  expect(await failed.isVisible()).toBe(true);
  expect(await label.count()).toBe(1);
  await page.setViewportSize({ width: 1200, height: 740 });
  expect(await failed.isVisible()).toBe(false);
});

test('the keyboard opens a settlement', async () => {
  const { page } = await open();
  const closed = page.locator('.settlements details').first();
  const reached = async () =>
    (await page.evaluate(`document.activeElement === document.querySelector('.settlements summary')`)) === true;
  for (let presses = 0; presses < 60 && !(await reached()); presses++) await page.keyboard.press('Tab');
  expect(await reached()).toBe(true);
  expect(await closed.locator('table').first().isVisible()).toBe(false);
  await page.keyboard.press('Enter');
  expect(await closed.locator('table').first().isVisible()).toBe(true);
  expect(await closed.locator('caption').allInnerTexts()).toContain('How it adds up, in USD');
  await page.keyboard.press('Space');
  expect(await closed.locator('table').first().isVisible()).toBe(false);
});

test('a screen reader finds headings in order, named tables and charts with a label', async () => {
  const { page } = await open();
  const levels = await page.evaluate<number[]>(
    `[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((of) => Number(of.tagName[1]))`,
  );
  expect(levels.length).toBeGreaterThan(10);
  levels.forEach((level, at, all) => {
    expect(level - (all[at - 1] ?? 0)).toBeLessThanOrEqual(1);
  });
  expect(await page.locator('table:not(:has(> caption))').count()).toBe(0);
  expect(await page.locator('svg:not([role=img][aria-label])').count()).toBe(0);
  expect(await page.getByRole('navigation', { name: 'Contents' }).getByRole('link').count()).toBe(6);
  expect(await page.getByRole('img', { name: /Bar chart of what was earned by month in USD/ }).count()).toBe(1);
  const summaries = page.locator('.settlements summary');
  expect(await summaries.first().textContent()).toMatch(/entries\s+of the settlement\s+2025-03-06, open\s+in USD/);
});

test('on paper there are figures only: no contents, no closed entries, the wide charts, black on white', async () => {
  const { page } = await open({ colorScheme: 'dark' });
  await page.locator('.settlements summary').first().click();
  await page.emulateMedia({ media: 'print' });
  expect(await page.locator('nav').isVisible()).toBe(false);
  // A footer that is one would be printed on every page of a long table, below a part of what it sums up.
  expect(await page.evaluate(`getComputedStyle(document.querySelector('tfoot')).display`)).toBe('table-row-group');
  // No heading stands alone at the foot of a page, nor a sum at the head of the next one.
  const breaksOf = (selector: string, property: string) =>
    page.evaluate<string[]>(
      `[...new Set([...document.querySelectorAll(${JSON.stringify(selector)})].map((of) => getComputedStyle(of)[${JSON.stringify(property)}]))]`,
    );
  expect(await breaksOf('h2, h3, h4, caption, thead, dt, summary', 'breakAfter')).toEqual(['avoid']);
  expect(await breaksOf('tfoot, tfoot tr', 'breakBefore')).toEqual(['avoid']);
  expect(await breaksOf('figure, section[id$=-months] > .scroll', 'breakInside')).toEqual(['avoid']);
  // No page begins or ends with a row or two of a table.
  expect(await breaksOf('tbody > tr:nth-child(-n+3):not(:last-child)', 'breakAfter')).toEqual(['avoid']);
  expect(await breaksOf('tbody > tr:nth-last-child(-n+3):not(:first-child)', 'breakBefore')).toEqual(['avoid']);
  expect(await breaksOf('section[id$=-months] .chart.wide', 'fontSize')).toEqual(['16px']);
  expect(await page.locator('.settlements details[open]').isVisible()).toBe(true);
  expect(await page.locator('.settlements details:not([open])').first().isVisible()).toBe(false);
  expect(await page.evaluate('getComputedStyle(document.body).color')).toBe('rgb(0, 0, 0)');
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
  const pdf = await page.pdf({ format: 'A4' });
  expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
});
