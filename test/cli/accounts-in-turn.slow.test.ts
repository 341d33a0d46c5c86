import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { builtCommand } from '../app/built-command.js';
import { clockAt, serving, temporaryFolder } from '../app/lake-run.js';

const range = ['--from', '2025-01-05', '--to', '2025-01-20'];

/** A service for each of two sellers, and one that is not set up: `alpine` and `tokyo` load, `lima` can't sign in. */
async function configured(folder: string): Promise<void> {
  const endpoint = async (seed: number): Promise<string> => {
    const clock = clockAt('2025-02-01T12:00:00Z');
    return serving({
      backend: createSeller({ seed, events: 40, days: 27, profile: 'plausible' }, clock),
      clock,
      quota: { rate: 100, burst: 100 },
    });
  };
  const accounts = {
    alpine: { endpoint: await endpoint(1) },
    lima: { region: 'eu' },
    tokyo: { endpoint: await endpoint(2) },
  };
  await writeFile(join(folder, 'ledgerlake.config.json'), JSON.stringify({ accounts }));
}

const run = (folder: string, ...words: readonly string[]) => builtCommand(words, { folder });

const objects = (out: string): readonly unknown[] =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

test('several accounts load in turn, one that fails stops no other, and each writes its own metrics', async () => {
  const folder = await temporaryFolder();
  await configured(folder);
  await mkdir(join(folder, 'metrics'));

  // All that are configured.
  const all = await run(folder, 'backfill', ...range, '--metrics-file', 'metrics/{account}.prom');
  expect(all).toMatchObject({ code: 1 });
  expect(all.out).toMatch(/^alpine\n[^]*\nlima\n[^]*\ntokyo\n[^]*\n2 of 3 accounts loaded; not done: lima\n$/);
  expect(all.err).toMatch(/USAGE: expected clientId.* for the account lima/);
  expect((await readdir(join(folder, 'data/lake/events'))).filter((name) => name.startsWith('account='))).toEqual([
    'account=alpine',
    'account=tokyo',
  ]);
  const succeeded = async (account: string): Promise<string | undefined> =>
    /^ledgerlake_run_succeeded\{.*\} (\d)$/m.exec(await readFile(join(folder, `metrics/${account}.prom`), 'utf8'))?.[1];
  expect([await succeeded('alpine'), await succeeded('lima'), await succeeded('tokyo')]).toEqual(['1', '0', '1']);

  // Those that are named, with one object each.
  const both = ['--account', 'tokyo', '--account', 'alpine'];
  const two = await run(folder, 'backfill', ...range, ...both, '--json', '--quiet');
  expect(two).toMatchObject({ code: 0, err: '' });
  expect(objects(two.out)).toMatchObject([
    { account: 'tokyo', status: 'done' },
    { account: 'alpine', status: 'done' },
  ]);
  // Also one that is set up wrong.
  const three = await run(folder, 'backfill', ...range, '--json', '--quiet');
  expect(three.code).toBe(1);
  expect(objects(three.out)).toMatchObject([
    { account: 'alpine', status: 'done' },
    { account: 'lima', status: 'failed', error: { code: 'USAGE' } },
    { account: 'tokyo', status: 'done' },
  ]);

  // What is wrong for all of them is said once, and nothing was touched.
  const wrong = await run(folder, 'sync', ...both, '--look-back', 'long', '--quiet');
  expect(wrong).toMatchObject({ code: 2, out: '' });
  expect(wrong.err.trimEnd().split('\n')).toHaveLength(1);
});

test('accounts that fail alike are told apart in the log, in the summary and in the JSON, by account and run', async () => {
  const folder = await temporaryFolder();
  const away = { endpoint: 'http://127.0.0.1:9' };
  await writeFile(
    join(folder, 'ledgerlake.config.json'),
    JSON.stringify({ accounts: { east: away, lima: { region: 'eu' }, west: away } }),
  );
  const text = await run(folder, 'sync');
  expect(text.code).toBe(1);
  const failures = text.err.split('\n').filter((line) => line.startsWith('ledgerlake: '));
  const sources = failures.map((line) => /\[(\w+)(?: (\d+-[0-9a-f]{8}))?\]$/.exec(line)?.slice(1) ?? []).toSorted();
  expect(sources).toEqual([
    ['east', expect.stringMatching(/./)],
    ['lima', undefined],
    ['west', expect.stringMatching(/./)],
  ]);
  for (const [account, id] of sources) {
    if (id === undefined) continue;
    expect(text.err).toContain(`\n[${account} ${id}] `);
    expect(text.out).toMatch(new RegExp(`^Not done: .* for ${account}, run ${id};`, 'm'));
  }
  const json = await run(folder, 'sync', '--json', '--quiet', '--log-format', 'json');
  const printed = objects(json.out) as readonly { account: string; run?: string }[];
  const logged = objects(json.err) as readonly { event: string; account: string; run: string | null }[];
  expect(printed.map(({ account }) => account)).toEqual(['east', 'lima', 'west']);
  expect(new Set(printed.map((one) => one.run)).size).toBe(3);
  expect(
    logged
      .filter(({ event }) => event === 'failed')
      .map((line) => [line.account, line.run])
      .toSorted(),
  ).toEqual(printed.map((one) => [one.account, one.run ?? null]));
});

test('plan estimates several accounts in turn, as the backfill would load them', async () => {
  const folder = await temporaryFolder();
  await configured(folder);
  const all = await run(folder, 'plan', ...range);
  expect(all.out).toMatch(
    /^alpine\nLoading .* for alpine into [^]*\n\nlima\nLoading [^]*\n\ntokyo\nLoading [^]*\n3 of 3 accounts estimated\n$/,
  );
  expect(all).toMatchObject({ code: 0, err: '' });
  expect((await run(folder, 'backfill', '--dry-run', ...range)).out).toBe(all.out);
  const both = ['--account', 'tokyo', '--account', 'alpine'];
  const rows = await run(folder, 'plan', ...range, ...both, '--format', 'ndjson');
  const whose = rows.out.trimEnd().split('\n');
  expect(whose.map((line) => (JSON.parse(line) as { account: string }).account)).toEqual([
    ...['tokyo', 'tokyo', 'tokyo'],
    ...['alpine', 'alpine', 'alpine'],
  ]);
  const csv = await run(folder, 'plan', ...both, '--format', 'csv');
  expect(csv).toMatchObject({ code: 2, out: '' });
  expect(csv.err).toContain(
    'expected one account with --format csv, got tokyo, alpine; name it with --account, or choose',
  );
  // A lake that holds none of them, and nothing was written.
  expect(await readdir(folder)).toEqual(['ledgerlake.config.json']);
});

test('an account whose metrics cannot be written stops no other', async () => {
  const folder = await temporaryFolder();
  await configured(folder);
  await mkdir(join(folder, 'tokyo'));
  const both = ['--account', 'alpine', '--account', 'tokyo', '--metrics-file', '{account}/run.prom'];
  for (const words of [
    ['backfill', ...range],
    ['sync', '--parallel', '2'],
  ]) {
    const { code, out, err } = await run(folder, ...words, ...both);
    expect(code).toBe(1);
    expect(err).toMatch(/USAGE: expected .*alpine.run\.prom/);
    // The requests of each; the service has another clock, which a sync fails by.
    expect(out).toMatch(/\nalpine +USAGE +0 [^\n]*\ntokyo +\S+ +[1-9]/);
  }
});

test('the metrics of several accounts need a file each, orders are of one, and a mistyped account gets none', async () => {
  const folder = await temporaryFolder();
  await configured(folder);
  const shared = await run(folder, 'sync', '--account', 'alpine', '--account', 'tokyo', '--metrics-file', 'all.prom');
  expect(shared).toMatchObject({ code: 2, out: '' });
  expect(shared.err).toMatch(/expected \{account\} in the name of the metrics file of 2 accounts, got all\.prom/);
  const orders = await run(folder, 'backfill', 'order-events', '--orders', '-');
  expect(orders).toMatchObject({ code: 2, out: '' });
  expect(orders.err).toMatch(/expected one account with --orders, got alpine, lima, tokyo; name it with --account/);
  const one = await run(folder, 'backfill', ...range, '--account', 'alpine', '--account', 'tokio');
  expect(one).toMatchObject({ code: 2, out: '' });
  expect(one.err).toMatch(/got "tokio"; did you mean tokyo\?/);
  const mistyped = await run(folder, 'sync', '--account', 'alpin', '--metrics-file', '{account}.prom');
  expect(mistyped.err).toMatch(/got "alpin"; did you mean alpine\?/);
  expect(await readdir(folder)).toEqual(['ledgerlake.config.json']);
});

test('an account that is configured and was never loaded is behind', async () => {
  const folder = await temporaryFolder();
  await configured(folder);
  expect(await run(folder, 'backfill', ...range, '--account', 'alpine', '--account', 'tokyo')).toMatchObject({
    code: 0,
  });
  const status = await run(folder, 'status');
  expect(status).toMatchObject({ code: 0 });
  expect(status.out).toContain(
    'lima: nothing loaded yet. Load it with\n  ledgerlake sync --lake data/lake --account lima\n',
  );
  const lag = await run(folder, 'status', '--quiet', '--max-lag', '10000d');
  expect(lag).toMatchObject({ code: 1, out: '' });
  expect(lag.err).toMatch(
    /account lima has nothing with a date; run `ledgerlake sync --lake data\/lake --account lima`/,
  );
  expect(await run(folder, 'status', '--quiet', '--max-lag', '10000d', '--account', 'tokyo')).toMatchObject({
    code: 0,
  });
  // A lake beside the one that is configured is not expected to hold it.
  const lakes = async (configured: string, given: string): Promise<string> => {
    const environment = { LEDGERLAKE_LAKE: configured };
    return (await builtCommand(['status', '--lake', given], { folder, environment })).out;
  };
  expect(await lakes('data/other', 'data/lake')).not.toContain('lima');
  expect(await lakes('data/lake', join(folder, 'data/lake/'))).toContain('lima: nothing loaded yet');
  // What the configuration has no command repeats; an endpoint that was given is named.
  const gaps = ['status', '--account', 'tokyo', '--from', '2025-01-01', '--to', '2025-01-20'];
  const load = '  ledgerlake backfill --lake data/lake --account tokyo';
  expect((await run(folder, ...gaps)).out).toContain(`${load} --from 2025-01-01 --to 2025-01-05\n`);
  const { accounts } = JSON.parse(await readFile(join(folder, 'ledgerlake.config.json'), 'utf8')) as {
    accounts: { tokyo: { endpoint: string } };
  };
  const { endpoint } = accounts.tokyo;
  expect(await run(folder, 'backfill', ...range, '--account', 'tokyo', '--endpoint', endpoint)).toMatchObject({
    code: 0,
  });
  expect((await run(folder, ...gaps)).out).toContain(`${load} --endpoint ${endpoint} --from 2025-01-01`);
  const other = await run(folder, 'status', '--account', 'alpine');
  expect(other.out).toMatch(/Last run: backfill of .* for alpine\n  done/);
});

test('a command that takes one account is not given two', async () => {
  const folder = await temporaryFolder();
  for (const command of ['status', 'import', 'forget', 'report']) {
    const ended = await run(folder, command, '--account', 'a', '--account', 'b');
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toContain(`expected --account once, got it with a and b; see ledgerlake ${command} --help`);
  }
  // The same once more is no contradiction, and a flag that is repeated holds.
  const repeated = await run(folder, 'status', '--account', 'a', '--account', 'a', '--quiet', '--quiet');
  expect(repeated.err).toMatch(/expected a lake at data\/lake, got none/);
  expect(await readdir(folder)).toEqual([]);
});
