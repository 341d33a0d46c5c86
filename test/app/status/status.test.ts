import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Finding } from '../../../src/app/doctor/findings.js';
import { examineLake } from '../../../src/app/doctor/lake-findings.js';
import type { LakeStatus } from '../../../src/app/results.js';
import { status, type StatusCommand } from '../../../src/app/status/status.js';
import { isFormat } from '../../../src/core/text/formats.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { acquireLease, leasePath, type RunPurpose } from '../../../src/lake/leases.js';
import { lastRunNotes, type LastRun } from '../../../src/lake/upkeep/last-run.js';
import { noteRequestedRanges } from '../../../src/lake/upkeep/requested-ranges.js';
import { HandClock } from '../../core/clock.js';
import { Kept } from '../../core/text/streams.js';
import { loadedLake, type LoadedLake } from '../verify/loaded-lake.js';
import { smallBackend } from '../verify/small-backend.js';

let gaps: LoadedLake;
let extra: LoadedLake | undefined;
beforeAll(async () => {
  gaps = await loadedLake(smallBackend(), [
    { to: '2025-02-25' },
    { pipelines: ['financial-events'], from: '2025-02-27T06:00:00Z' },
  ]);
});
afterEach(() => {
  extra?.remove();
  extra = undefined;
});
afterAll(() => {
  gaps.remove();
});

async function shown(lake: LoadedLake, more: Partial<StatusCommand> = {}, columns?: number): Promise<string> {
  const output = new Kept(columns);
  const context = { clock: lake.clock, signal: new AbortController().signal, output, emit: () => undefined };
  const given = { lake: lake.root, account: undefined, from: undefined, to: undefined, format: 'table' as const };
  await status({ ...given, color: false, ...more }, context);
  return output.text;
}

/** Where the note of an account's last run is. */
function lastRunPath(lake: LoadedLake, account = 'shop'): string {
  return join(lake.root, lastRunNotes.folder, `${account}.json`);
}

/** Notes a run that differs from the last one of `gaps`. */
function noteRun(lake: LoadedLake, more: Partial<LastRun>): void {
  const path = lastRunPath(lake, more.account);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(lastRunPath(gaps), 'utf8')) as object), ...more }));
}

test('tells coverage, gaps, groups, tables and the last run, and how to load the gaps', async () => {
  const text = await shown(gaps, {}, 80);
  expect(
    text
      .replaceAll(gaps.root, 'LAKE')
      .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
      .replaceAll(/ +\d+\.\d kB/g, ' SIZE')
      .replace(/\d+:[0-9a-f]{64}/, 'VERSION:HASH'),
  ).toBe(
    [
      'shop, 2025-02-20 to 2025-03-08',
      '',
      'financial-event-groups: 1 window, 5 of 16 days loaded, 11 missing',
      '        1   5    10   15   20   25   30          1   5    10   15   20   25   30',
      '2025-02                    █░░░░····     2025-03 ·······',
      'Gaps:',
      '  2025-02-25 to 2025-03-08',
      '',
      'financial-events: 4 windows, 13 of 16 days loaded, 1 in part, 2 missing',
      '        1   5    10   15   20   25   30          1   5    10   15   20   25   30',
      '2025-02                    █████··▄█     2025-03 ███████',
      'Gaps:',
      '  2025-02-25 to 2025-02-27T06:00:00Z',
      '',
      'group-events: 1 group, 5 of 16 days loaded, 11 missing',
      '        1   5    10   15   20   25   30          1   5    10   15   20   25   30',
      '2025-02                    █░░░░····     2025-03 ·······',
      'Gaps:',
      '  2025-02-25 to 2025-03-08',
      '',
      '█ loaded   ░ loaded, nothing in it   ▄ loaded in part   · missing',
      '',
      'table          files     size  rows',
      'events             4 SIZE    13',
      'entries            4 SIZE    26',
      'groups             1 SIZE     1',
      'group_events       1 SIZE    16',
      'group_entries      1 SIZE    30',
      '',
      'To load the gaps:',
      '  ledgerlake backfill --lake LAKE --account shop --endpoint http://HOST --from 2025-02-25 --to 2025-03-08',
      '',
      'Catalog: VERSION:HASH',
      'Last run: backfill of 2025-02-27T06:00:00Z to 2025-03-08 for shop',
      '  done at 2025-03-08T00:05:00Z after 0.0 s',
      '  financial-events: 2 slices, 2 requests, 4 files, SIZE',
      '',
    ].join('\n'),
  );
});

test('keeps to 80 columns where nothing says otherwise, save for commands and names', async () => {
  const lines = (await shown(gaps)).split('\n').filter((line) => !line.includes('ledgerlake backfill'));
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
});

test('loads what is missing when its own command is run', async () => {
  const { command } =
    (JSON.parse(await shown(gaps, { format: 'json' })) as { accounts: { command: string }[] }).accounts[0] ?? {};
  const [, from, to] = / --from (\S+) --to (\S+)$/.exec(command ?? '') ?? [];
  extra = await loadedLake(smallBackend(), [
    { to: '2025-02-25' },
    { pipelines: ['financial-events'], from: '2025-02-27T06:00:00Z' },
    { from, to },
  ]);
  const text = await shown(extra);
  expect(text).toContain('No gap: everything in the range is loaded, up to 5 min ago.\n');
  expect(text).toContain('Open groups:\n  GROUP-2, since 2025-03-06\n');
});

test('tells groups that are listed and not loaded, and names only the pipelines that lack something', async () => {
  extra = await loadedLake(smallBackend(), [
    { to: '2025-03-01' },
    { pipelines: ['financial-event-groups', 'financial-events'] },
  ]);
  const text = await shown(extra);
  expect(text).toContain('Groups listed and not loaded by group-events:\n  GROUP-2, since 2025-03-06\n');
  expect(text).toMatch(/ledgerlake backfill group-events .* --from 2025-03-06 --to 2025-03-07\n/);
});

test('of several accounts each has a line of its own at the end', async () => {
  extra = await loadedLake(smallBackend(), [{ account: 'other' }, { to: '2025-02-25' }, { from: '2025-02-27' }]);
  expect(await shown(extra)).toContain(
    'other  loaded up to 2025-03-08, no gap\n' +
      'shop   loaded up to 2025-02-25, complete from 2025-02-27 to 2025-03-08, ' +
      'gaps in financial-event-groups, financial-events, group-events\n\nCatalog: ',
  );
});

test.each([
  ['the newest run', '2025-03-08T00:10:00.000Z'],
  ['an earlier run', '2025-03-08T00:01:00.000Z'],
])('of several accounts one that failed is told of with its error, where that was %s', async (_name, endedAt) => {
  extra = await loadedLake(smallBackend(), [{ account: 'other' }, {}]);
  const error = { failure: 'it was refused', code: 'SIGN_IN_REFUSED' };
  noteRun(extra, { command: 'sync', account: 'other', status: 'failed', startedAt: endedAt, endedAt, ...error });
  const isNewest = endedAt > '2025-03-08T00:05';
  const text = await shown(extra);
  const runs = [...text.matchAll(/^Last run: .* for (.*)\n {2}(.*) at /gm)].map(([, account, state]) => [
    account,
    state,
  ]);
  const [failed, done] = [
    ['other', 'failed'],
    ['shop', 'done'],
  ];
  // One that is done is told of only where it is the newest.
  expect(runs).toEqual(isNewest ? [failed] : [done, failed]);
  expect(text).toContain('\n  SIGN_IN_REFUSED: it was refused\n');
  expect(await shown(extra, { account: 'shop' })).not.toContain('SIGN_IN_REFUSED');
  expect(await shown(extra, { allowed: ['shop'] })).not.toContain('SIGN_IN_REFUSED');
  const object = JSON.parse(await shown(extra, { format: 'json' })) as Pick<LakeStatus, 'last_run' | 'last_runs'>;
  const noted = object.last_runs.map((run) => [run['account'], run['status']]);
  expect(noted).toEqual(isNewest ? [failed, done] : [done, failed]);
  expect(object.last_run).toEqual(object.last_runs[0]);
  const found: Finding[] = [];
  const query = {
    lake: extra.root,
    account: undefined,
    from: undefined,
    to: undefined,
    maxLagMs: Infinity,
    mustExist: false,
  };
  await examineLake(query, extra.clock, (finding) => found.push(finding));
  const [warning, ...others] = found.filter((of) => of.found.includes('last run'));
  expect(others).toEqual([]);
  expect(warning).toMatchObject({ account: 'other', state: 'warning' });
  expect(warning?.found).toMatch(/^other: the last run failed: sync, 2025-03-08T\S+, SIGN_IN_REFUSED: it was refused$/);
  expect(warning?.command).toMatch(/^ledgerlake sync --lake \S+ --account other --endpoint /);
});

test('says which pipelines have loaded nothing yet', async () => {
  extra = await loadedLake(smallBackend(), [{ pipelines: ['financial-events'] }]);
  const text = await shown(extra);
  expect(text).toContain('Nothing loaded yet of: financial-event-groups, group-events\n');
  expect(text).toContain('No gap: every pipeline that has begun is loaded');
});

describe('json', () => {
  test('is one object', async () => {
    const object = JSON.parse(await shown(gaps, { format: 'json' })) as Record<string, unknown>;
    expect(object).toMatchObject({
      lake: gaps.root,
      at: '2025-03-08T00:05:00.000Z',
      command: null,
      last_run: { command: 'backfill', status: 'done', account: 'shop', from: '2025-02-27T06:00:00.000Z' },
      accounts: [
        {
          account: 'shop',
          from: '2025-02-20T00:00:00.000Z',
          to: '2025-03-08T00:00:00.000Z',
          pipelines: [
            { pipeline: 'financial-event-groups', sliced_by: 'window', loaded: 1 },
            {
              pipeline: 'financial-events',
              gaps: [{ from: '2025-02-25T00:00:00.000Z', to: '2025-02-27T06:00:00.000Z' }],
            },
            { pipeline: 'group-events', sliced_by: 'group', loaded: 1 },
          ],
          not_loaded: [],
          groups_to_load: [],
        },
      ],
    });
  });

  test('as rows has a day a row, in ndjson and csv alike', async () => {
    const csv = (await shown(gaps, { format: 'csv' })).trimEnd().split('\n');
    expect(csv[0]).toBe('account,pipeline,day,state');
    expect(csv).toHaveLength(1 + 3 * 16);
    expect(csv).toContain('shop,financial-events,2025-02-27,partial');
    const ndjson = (await shown(gaps, { format: 'ndjson' })).trimEnd().split('\n');
    const rows = ndjson.map((line) => Object.values(JSON.parse(line) as object).join(','));
    expect(rows).toEqual(csv.slice(1));
    expect(isFormat('csv')).toBe(true);
  });
});

describe('the range', () => {
  test('may be given', async () => {
    const text = await shown(gaps, { from: '2025-02-22', to: '2025-02-26' });
    expect(text).toContain('shop, 2025-02-22 to 2025-02-26\n');
    expect(text).toMatch(/ --from 2025-02-25 --to 2025-02-26\n/);
  });

  test('of an account that began after its end is one that has nothing, and others are shown', async () => {
    const pipelines = ['financial-events'];
    extra = await loadedLake(smallBackend(), [{ pipelines }, { account: 'late', pipelines, from: '2025-03-01' }]);
    const text = await shown(extra, { to: '2025-03-01' });
    expect(text).toContain('late, 2024-12-01 to 2025-03-01\n');
    expect(text).toContain('0 of 90 days loaded, 90 missing\n');
    expect(text).toContain('shop, 2025-02-20 to 2025-03-01\n');
    expect(text).toContain('9 of 9 days loaded\n');
    expect(await shown(extra, { to: '2025-03-02' })).toContain('late, 2025-03-01 to 2025-03-02\n');
  });

  test('ends with the pipeline that was loaded first, where others follow within a day', async () => {
    const pipelines = ['financial-events'];
    extra = await loadedLake(smallBackend(), [
      { to: '2025-03-07T12:00:00Z' },
      { pipelines, from: '2025-03-07T12:00:00Z', to: '2025-03-07T12:00:18Z' },
    ]);
    const text = await shown(extra);
    expect(text).toContain('shop, 2025-02-20 to 2025-03-07T12:00:00Z\n');
    expect(text).not.toContain('Gaps:');
    extra.remove();
    extra = await loadedLake(smallBackend(), [
      { to: '2025-03-06T12:00:00Z' },
      { pipelines, from: '2025-03-06T12:00:00Z', to: '2025-03-07T12:00:18Z' },
    ]);
    expect(await shown(extra)).toContain('Gaps:\n  2025-03-06T12:00:00Z to 2025-03-07T12:00:18Z\n');
  });

  test('must be one', async () => {
    await expect(shown(gaps, { from: '2025-02-22', to: '2025-02-21' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(shown(gaps, { from: 'yesterday' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(shown(gaps, { to: 'tomorrow', lake: 's3://' })).rejects.toThrow(/^expected --to /);
  });

  test('does not hide what is loaded when the clock was put back', async () => {
    const clock = new HandClock('2025-01-01T00:00:00Z');
    expect(await shown({ ...gaps, clock })).toContain('shop, 2025-02-20 to 2025-03-08\n');
  });
});

describe('a lake without anything in it', () => {
  test('says how to load it, and makes nothing', async () => {
    const root = join(gaps.root, '..', 'empty');
    const inside = join(root, "it's here");
    mkdirSync(inside, { recursive: true });
    const before = readdirSync(join(root, '..'));
    const text = await shown({ ...gaps, root }, { lake: inside });
    expect(text).toContain('has nothing yet. Load it with\n  ledgerlake backfill --lake ');
    expect(text).toContain(String.raw`it'\''s here'`);
    expect(text).toContain('\nwhich loads a synthetic seller unless an account is configured, or named by ');
    expect(readdirSync(join(root, '..'))).toEqual(before);
    expect(readdirSync(inside)).toEqual([]);
    const json: unknown = JSON.parse(await shown({ ...gaps, root }, { format: 'json' }));
    expect(json).toMatchObject({ accounts: [], last_run: null, command: `ledgerlake backfill --lake ${root}` });
  });
});

test('an account that the lake lacks is refused with those that it holds, unless a run for it has begun', async () => {
  await expect(shown(gaps, { account: 'shpo' })).rejects.toMatchObject({
    exitCode: 2,
    message: `expected --account to be an account of ${gaps.root} (shop), got "shpo"; did you mean shop?`,
  });
  expect(await shown(gaps, { account: 'shop' })).toBe(await shown(gaps));
  extra = gaps.copy();
  noteRun(extra, { account: 'other', status: 'failed' });
  const { root } = extra;
  expect((await shown(extra, { account: 'other' })).replaceAll(root, 'LAKE')).toMatch(
    /^LAKE has nothing of other yet. Load it with\n  ledgerlake backfill financial-events --lake LAKE --account other /,
  );
});

test('a note of the last run that cannot be understood is as good as none', async () => {
  extra = gaps.copy();
  writeFileSync(lastRunPath(extra), '{"status":"done"');
  expect(await shown(extra)).toContain('Last run: unknown\n');
  writeFileSync(lastRunPath(extra), '{"status":"done","pipelines":{}}');
  const text = await shown(extra);
  expect(text).toContain('Last run: unknown\n');
  expect(text).toContain('beside the --endpoint that serves the account\n');
  expect(await shown(extra, { configured: ['shop'] })).not.toContain('--endpoint');
  expect(await shown(extra, { configured: ['other'] })).toContain('--endpoint');
});

describe('runs', () => {
  const purpose = { command: 'backfill', account: 'shop', pipelines: ['financial-events', 'group-events'] };

  test('that are at work, or died, are shown; one that has ended is not', async () => {
    extra = gaps.copy();
    const store = diskStore(extra.root);
    const running = await acquireLease({ store, run: '1-active' }, extra.clock, purpose);
    const died = { ...purpose, account: 'other' };
    const ended = await acquireLease({ store, run: '1-died' }, extra.clock, died);
    const path = join(extra.root, leasePath(ended.id));
    const lease = JSON.parse(readFileSync(path, 'utf8')) as object;
    await ended.release();
    expect(await shown(extra)).not.toContain('Died');
    writeFileSync(path, JSON.stringify({ ...lease, pid: 0x7fff_fff0 }));
    const text = await shown(extra);
    expect(text).toMatch(/^Died: .*\nCatalog: .*\n\nLast run: /m);
    expect(text).toContain(`Active: backfill of shop, process ${process.pid} on ${hostname()}, since 2025-03-08T`);
    expect(text).toContain('\nTo load the gaps, if the active run leaves any:\n  ledgerlake backfill --lake ');
    expect(text).toMatch(
      /^Died: backfill of other, process 2147483632 on .*; what it committed stays, and the next successful run removes the rest$/m,
    );
    await expect(shown(extra, { maxLag: '1h' })).rejects.toThrow(
      /; a run is active \(backfill of shop, .*\): wait for it, or run `?ledgerlake backfill /,
    );
    const json = JSON.parse(await shown(extra, { format: 'json' })) as { runs: object[] };
    expect(json.runs).toMatchObject([
      { state: 'active', ...purpose, pid: process.pid },
      { state: 'died', ...died, pid: 0x7fff_fff0 },
    ]);
    await running.release();
  });

  test('that ended early leave no word of "no gap": the command has every pipeline that was asked for', async () => {
    extra = await loadedLake(smallBackend(), [{ pipelines: ['financial-events'] }]);
    expect(await shown(extra)).toContain('No gap: every pipeline that has begun is loaded');
    const asked = ['financial-event-groups', 'financial-events', 'group-events'];
    noteRun(extra, { status: 'failed', failure: 'stopped', from: '2025-02-20T00:00:00.000Z', requested: asked });
    const text = await shown(extra);
    expect(text).not.toContain('No gap:');
    expect(text).toContain(
      'Requested and not begun, because the run ended early: financial-event-groups, group-events\n',
    );
    expect(text).toMatch(/^ {2}ledgerlake backfill financial-event-groups group-events --lake .* --from 2025-02-20 /m);
    // A run that was killed leaves no word but its lease.
    noteRun(extra, {});
    const lease = await acquireLease({ store: diskStore(extra.root), run: '1-died' }, extra.clock, purpose);
    await lease.release();
    const killed = { host: 'h', machine: 'm', pid: 1, start: '0', startedAt: 0, renewedAt: 0, purpose };
    writeFileSync(join(extra.root, leasePath(lease.id)), JSON.stringify(killed));
    expect(await shown(extra)).toMatch(/^ {2}ledgerlake backfill group-events --lake /m);
  });
});

describe('a lake whose first run came to nothing', () => {
  let lake: LoadedLake;
  beforeEach(() => {
    extra = gaps.copy();
    rmSync(extra.root, { recursive: true });
    mkdirSync(extra.root);
    lake = extra;
  });

  const both = ['financial-event-groups', 'financial-events', 'group-events', 'transactions'];

  async function die(purpose: RunPurpose): Promise<void> {
    const lease = await acquireLease({ store: diskStore(lake.root), run: '1-died' }, lake.clock, purpose);
    await lease.release();
    const killed = { host: 'h', machine: 'm', pid: 1, start: '0', startedAt: 0, renewedAt: 0, purpose };
    writeFileSync(join(lake.root, leasePath(lease.id)), JSON.stringify(killed));
  }

  const suggested = async (more: Partial<StatusCommand> = {}) =>
    (await shown(lake, more)).replaceAll(lake.root, 'LAKE').split('\n\n')[0];

  test.each<[string, readonly string[], string, string]>([
    ['both APIs', both, 'backfill --lake LAKE --account shop --api both', ''],
    ['those of v0', both.slice(0, 3), 'backfill --lake LAKE --account shop', ''],
    ['one', ['transactions'], 'backfill transactions --lake LAKE --account shop', ''],
    ['orders', ['order-events'], 'backfill order-events --lake LAKE --account shop', 'beside its --orders\n'],
  ])('as it was killed: the command has its account and its pipelines, %s', async (_, pipelines, command, more) => {
    await die({ command: 'backfill', account: 'shop', pipelines });
    expect(await suggested()).toBe(
      `LAKE has nothing yet. Load it with\n  ledgerlake ${command}\nbeside the --endpoint that serves the account\n` +
        `${more}beside its --from and --to, if it had any`,
    );
    const text = await shown(lake);
    expect(text).toContain('Died: backfill of shop, process 1 on h');
    expect(text).not.toContain('Last run:');
    await expect(shown(lake, { maxLag: '1d' })).rejects.toMatchObject({
      code: 'LAKE_LAG',
      message: expect.stringMatching(
        / date; run `ledgerlake backfill .*--account shop.*`, beside the --endpoint that serves the account/,
      ) as string,
    });
  });

  test('as it was killed: the command has the range that it noted', async () => {
    const store = diskStore(lake.root);
    const range = { start: Date.parse('2025-01-03'), end: Date.parse('2025-02-01') };
    const asked = ['financial-event-groups', 'financial-events'].map((pipeline) => ({
      ...({ command: 'backfill', pipeline } as const),
      ...range,
    }));
    await die({ command: 'backfill', account: 'shop', pipelines: both.slice(0, 3) });
    await noteRequestedRanges(store, 'shop', 'killed', asked, []);
    const text = await suggested({ configured: ['shop'] });
    expect(text).toBe(
      'LAKE has nothing yet. Load it with\n  ledgerlake backfill --lake LAKE --account shop --from 2025-01-03 --to 2025-02-01',
    );
    rmSync(join(lake.root, '_requested'), { recursive: true });
  });

  test('of pipelines of its own: no endpoint, and the folder where it is known', async () => {
    await die({ command: 'sync', account: 'depot', pipelines: ['shipments'] });
    const command = '  ledgerlake sync shipments --lake LAKE --account depot';
    expect(await suggested()).toBe(
      `LAKE has nothing yet. Load it with\n${command}\nbeside the --pipelines that defines shipments, unless it is configured`,
    );
    expect(await suggested({ pipelineFolder: 'mine' })).toContain(`${command} --pipelines mine`);
  });

  test('as it failed: the command has its endpoint, and the range of a backfill', async () => {
    const leave = (more: Partial<LastRun>) => {
      rmSync(join(lake.root, lastRunNotes.folder), { recursive: true, force: true });
      noteRun(lake, { status: 'failed', failure: 'away', pipelines: {}, endpoint: 'https://h', ...more });
    };
    leave({ requested: both.slice(0, 3) });
    const command = '  ledgerlake backfill --lake LAKE --account shop --endpoint https://h';
    const range = '--from 2025-02-27T06:00:00Z --to 2025-03-08';
    expect(await suggested()).toBe(`LAKE has nothing yet. Load it with\n${command} ${range}`);
    leave({ requested: both.slice(0, 3), endpointConfigured: true });
    const unnamed = `LAKE has nothing yet. Load it with\n  ledgerlake backfill --lake LAKE --account shop ${range}`;
    expect(await suggested({ configured: ['shop'] })).toBe(unnamed);
    expect(await suggested()).toBe(`${unnamed}\nbeside the --endpoint that serves the account`);
    leave({ requested: both.slice(0, 3), code: 'UPSTREAM_STATUS' });
    expect(await shown(lake)).toContain('\n  UPSTREAM_STATUS: away\n');
    leave({ command: 'sync', requested: ['financial-event-groups', 'transactions'] });
    expect(await suggested()).toBe(
      `LAKE has nothing yet. Load it with\n${command.replace('backfill', 'sync').replace(' --end', ' --api 2024-06-19 --end')}`,
    );
    expect(await suggested({ account: 'other' })).toContain(
      '  ledgerlake backfill --lake LAKE --account other\nbeside',
    );
    // A note that somebody else has written brings no options.
    leave({ account: '--config=theirs' });
    expect(await suggested()).toContain('  ledgerlake backfill --lake LAKE\nwhich loads a synthetic seller');
    leave({ requested: ['--config=theirs'] });
    expect(await suggested()).toContain('  ledgerlake backfill --lake LAKE\nwhich loads a synthetic seller');
  });

  test('is not told to run again by --max-lag where nothing is known', async () => {
    await expect(shown(lake, { maxLag: '1d' })).rejects.toMatchObject({
      message: expect.stringMatching(/has nothing with a date; load it first, or allow more with --max-lag$/) as string,
    });
  });
});

test('--max-lag fails where an account has nothing that new, when all is written', async () => {
  await expect(shown(gaps, { maxLag: '1h' })).rejects.toMatchObject({
    code: 'LAKE_LAG',
    exitCode: 1,
    message: expect.stringMatching(/at most 1 h.* old, account shop is .* up to 2025-02-25/) as string,
  });
  const late = await shown(gaps, { maxLag: '1h' }).catch((error: unknown) => String(error));
  expect(late.replaceAll(gaps.root, 'LAKE').replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')).toMatch(
    /; run `(ledgerlake backfill --lake LAKE --account shop --endpoint http:\/\/HOST --from \S+ --to \S+)`, or allow more with --max-lag$/,
  );
  extra = gaps.copy();
  rmSync(lastRunPath(extra));
  await expect(shown(extra, { maxLag: '1h' })).rejects.toThrow(
    / --account shop --from \S+ --to \S+`, beside the --endpoint that serves the account, or allow more with --max-lag$/,
  );
  expect(await shown(gaps, { maxLag: '100d' })).toContain('shop, 2025-02-20');
  await expect(shown(gaps, { maxLag: 'soon' })).rejects.toMatchObject({ code: 'USAGE' });
  await expect(shown(gaps, { maxLag: '5m' })).rejects.toThrow(/longer than the margin of 5 minutes .*"5m"/);
  const { accounts } = JSON.parse(await shown(gaps, { format: 'json' })) as { accounts: { lag_seconds: number }[] };
  expect(accounts[0]?.lag_seconds).toBe(Math.round((gaps.clock.now() - Date.UTC(2025, 1, 25)) / 1000));
});

test('for an account that is no longer configured there is no command', async () => {
  extra = gaps.copy();
  noteRun(extra, { endpointConfigured: true });
  const gone = { configured: ['other'] };
  const text = await shown(extra, gone);
  expect(text).toContain(
    'There are gaps: shop is not configured: add it to the configuration, or name its --endpoint.',
  );
  expect(text).not.toContain('ledgerlake backfill');
  await expect(shown(extra, { ...gone, maxLag: '1h' })).rejects.toThrow(
    /up to 2025-02-25\S*; shop is not configured: add it to the configuration, or name its --endpoint, or allow more with --max-lag$/,
  );
  const { accounts } = JSON.parse(await shown(extra, { ...gone, format: 'json' })) as {
    accounts: { command: unknown }[];
  };
  expect(accounts[0]?.command).toBeNull();
});

test('a command repeats the API of the last run, where commands that name none use another', async () => {
  extra = gaps.copy();
  const given = { configured: ['shop', 'new'], expected: ['shop', 'new'] };
  const sync = async (api?: 'v0' | '2024-06-19') =>
    /ledgerlake sync .*--account new.*/.exec(await shown(extra ?? gaps, { ...given, api }))?.[0] ?? '';
  const v0 = ['financial-event-groups', 'financial-events', 'group-events'];
  noteRun(extra, { requested: v0 });
  expect(await sync()).not.toContain('--api');
  expect(await sync('2024-06-19')).toContain('--api v0');
  const asked = ['financial-event-groups', 'transactions'];
  noteRun(extra, { requested: asked });
  expect(await sync()).toContain('--api 2024-06-19');
  expect(await sync('2024-06-19')).not.toContain('--api');
  // A run of one pipeline says nothing of the others.
  noteRun(extra, { requested: ['transactions'] });
  expect(await sync()).not.toContain('transactions');
});

test('gaps and age are measured from where the configuration lets syncs begin', async () => {
  extra = await loadedLake();
  const asked = { syncedFrom: '2024-12-01', configured: ['shop'] };
  const text = await shown(extra, asked);
  expect(text).toContain('shop, 2024-12-01 to 2025-03-08');
  expect(text).toContain('  2024-12-01 to 2025-02-20');
  expect(text).toContain('backfill');
  await expect(shown(extra, { ...asked, maxLag: '10d' })).rejects.toThrow(
    /account shop is 97 d old: it is complete up to 2024-12-01/,
  );
  // Its upstream isn't configured: nothing could load the gap.
  expect(await shown(extra, { ...asked, configured: ['other'], maxLag: '10d' })).toContain('No gap');
  expect(await shown(extra, { ...asked, syncedFrom: '2025-02-20', maxLag: '10d' })).toContain('No gap');
});

test('--max-lag fails where a run was asked for settlements that are not loaded, and names what loads them', async () => {
  extra = await loadedLake(smallBackend(), [{ pipelines: ['financial-events', 'financial-event-groups'] }]);
  expect(await shown(extra, { maxLag: '100d' })).toContain('No gap');
  const purpose = {
    command: 'backfill',
    account: 'shop',
    pipelines: ['financial-events', 'group-events', 'order-events'],
  };
  const lease = await acquireLease({ store: diskStore(extra.root), run: '1-died' }, extra.clock, purpose);
  await lease.release();
  const killed = { host: 'h', machine: 'm', pid: 1, start: '0', startedAt: 0, renewedAt: 0, purpose };
  writeFileSync(join(extra.root, leasePath(lease.id)), JSON.stringify(killed));
  await expect(shown(extra, { maxLag: '100d' })).rejects.toMatchObject({
    code: 'LAKE_LAG',
    message: expect.stringMatching(
      /old, account shop lacks some of group-events, which were requested; run `ledgerlake backfill group-events order-events --lake \S+ --account shop --endpoint/,
    ) as string,
  });
});

test('reads nothing but the logs and the note', async () => {
  extra = gaps.copy();
  for (const table of ['events', 'entries', 'groups']) {
    rmSync(join(extra.root, table, 'account=shop'), { recursive: true });
  }
  expect((await shown(extra)).replaceAll(extra.root, gaps.root)).toBe(await shown(gaps));
});
