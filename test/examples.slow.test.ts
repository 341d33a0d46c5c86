import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { backfill } from '../src/index.js';
import { temporaryFolder } from './app/lake-run.js';
import { from, servedShop, to } from './library/served.js';

/**
 * Runs a program of `examples/` as its users would: the account comes from the environment, or several from the configuration, and
 * the folder is its own.
 */
async function example(
  name: string,
  words: readonly string[],
  { endpoint }: { readonly endpoint: string },
  configured: readonly string[] = [],
) {
  const cwd = await temporaryFolder();
  const accounts = Object.fromEntries(configured.map((account) => [account, { endpoint }]));
  if (configured.length > 0) await writeFile(join(cwd, 'ledgerlake.config.json'), JSON.stringify({ accounts }));
  const child = spawn(process.execPath, [resolve('examples', name), ...words], {
    cwd,
    env: {
      PATH: process.env['PATH'],
      ...(configured.length === 0 && { LEDGERLAKE_ACCOUNT: 'shop', LEDGERLAKE_ENDPOINT: endpoint }),
      LEDGERLAKE_RATE: '1000',
      LEDGERLAKE_BURST: '1000',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, out, err };
}

const range = [from, to].map((instant) => instant.toISOString());

test('nightly-sync.mjs loads, and fails with a code and what to do', async () => {
  const shop = await servedShop();
  expect(await example('nightly-sync.mjs', [shop.lake], shop)).toMatchObject({ code: 2, out: '' });
  await backfill({ ...shop, from, to });
  const night = await example('nightly-sync.mjs', [shop.lake], shop);
  expect(night).toMatchObject({ code: 0, err: '' });
  expect(night.out).toMatch(/shop: financial-events: \d+ events in \d+ requests, 0 slices left open/);
  expect(night.out).toMatch(/shop: the lake is \d+ minutes old\n$/);
  const failed = await example('nightly-sync.mjs', [shop.lake], { endpoint: 'nowhere' });
  expect(failed).toMatchObject({ code: 2, out: '' });
  expect(failed.err).toMatch(/^USAGE: /);
});

test('nightly-sync.mjs loads the accounts that are named, whatever becomes of the others', async () => {
  const shop = await servedShop();
  await backfill({ ...shop, account: 'one', from, to });
  const night = await example('nightly-sync.mjs', [shop.lake, 'one', 'three', 'two'], shop, ['one', 'two']);
  expect(night.code).toBe(1);
  for (const account of ['one', 'two']) expect(night.out).toContain(`${account}: the lake is `);
  expect(night.err).toMatch(/^three: USAGE: [^\n]+\n$/);
});

test('backfill-with-progress.mjs has a line for each slice', async () => {
  const shop = await servedShop();
  const { code, out } = await example('backfill-with-progress.mjs', [...range, shop.lake], shop);
  expect(code).toBe(0);
  expect(await example('backfill-with-progress.mjs', range.slice(1), shop)).toMatchObject({ code: 2, out: '' });
  expect(out).toMatch(/Z: \d+ events, left: nothing\n\d+ events and \d+ amounts in \d+ requests and [\d.]+ s\n$/);
});

test('query-month.mjs has every digit', async () => {
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-events'], from, to });
  const { code, out } = await example('query-month.mjs', [from.toISOString().slice(0, 7), shop.lake], shop);
  expect(code).toBe(0);
  expect(out).toMatch(/^shop: \d+ s behind\n/);
  const wrong = { code: 2, out: '', err: 'expected a month such as 2026-01, got 2026-13\n' };
  expect(await example('query-month.mjs', ['2026-13', shop.lake], shop)).toEqual(wrong);
  expect(out).toMatch(/^[A-Z]{3} fee: -?\d+\.\d{6} in \d+ amounts$/m);
});

test('nightly-backup.mjs copies the lake, and verifies the copy', async () => {
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-events'], from, to });
  const destination = join(await temporaryFolder(), 'backup');
  const night = await example('nightly-backup.mjs', [destination, shop.lake, 'verify'], shop);
  expect(night).toMatchObject({ code: 0, err: '' });
  expect(night.out).toMatch(
    /^version \d+: (\d+) files, \1 copied, 0 removed\nthe backup is \w+, with the chain of the lake: true\n$/,
  );
  const other = await example('nightly-backup.mjs', [shop.lake, shop.lake], shop);
  expect(other).toMatchObject({ code: 2, out: '' });
});

test('read-pages.mjs writes the bytes of each page', async () => {
  const shop = await servedShop();
  const file = join(await temporaryFolder(), 'pages.ndjson');
  const { code, out, err } = await example('read-pages.mjs', [...range, file], shop);
  expect([code, err]).toEqual([0, '']);
  const pages = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const bodies = pages.map((page) => JSON.parse(page) as { payload: { FinancialEvents: Record<string, unknown[]> } });
  const counted = bodies.reduce(
    (sum, body) => sum + (body.payload.FinancialEvents['ShipmentEventList']?.length ?? 0),
    0,
  );
  expect(out).toContain(`ShipmentEventList: ${counted}\n`);
  expect(out).toMatch(/^\w+: -?[\d.]+ [A-Z]{3}$/m);
});

test('stop-after.mjs stops, and the next run goes on from there', async () => {
  const shop = await servedShop();
  const { code, out } = await example('stop-after.mjs', ['1', shop.lake], shop);
  expect(code).toBe(0);
  expect(out).toMatch(/^stopped: \d+ slices with \d+ events stay\nthen: [1-9]\d* slices more\n$/);
});

test('doctor.mjs prints what must be done', async () => {
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-events'], from, to });
  const { code, out } = await example('doctor.mjs', [shop.lake], shop);
  expect(code).toBe(1);
  expect(out).toMatch(/^fault of lake: shop: expected the lake to be at most 2 d old, .*\n {2}ledgerlake sync /m);
  expect(out).toMatch(/\nthe state is fault\n$/);
});

test('every program is run by a test, and named in docs/library.md', async () => {
  const names = (await readdir('examples')).filter((name) => name.endsWith('.mjs'));
  const [tests, page] = await Promise.all([
    readFile('test/examples.slow.test.ts', 'utf8'),
    readFile('docs/library.md', 'utf8'),
  ]);
  expect(names.length).toBeGreaterThanOrEqual(5);
  for (const name of names) {
    expect(tests).toContain(`example('${name}'`);
    expect(page).toContain(`../examples/${name}`);
  }
});
