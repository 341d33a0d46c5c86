import { readFile, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { documentedEvents } from '../core/events/documented.js';
import { samplesOf, sumOf, type Sample } from '../observe/metrics/samples.js';
import { childRun, type ChildRun } from '../engine/run/child-run.js';
import { builtCommand } from '../app/built-command.js';
import { serving, temporaryFolder, type Ran } from '../app/lake-run.js';

type Line = Readonly<Record<string, unknown>>;

function linesOf(errors: string): Line[] {
  return errors
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** A service with throttles and faults, that a run needs some seconds for. */
async function faultyServer(): Promise<string> {
  return serving({
    backend: createSeller({ seed: 4, events: 1500, profile: 'edge-cases' }, systemClock),
    clock: systemClock,
    quota: { rate: 12, burst: 5 },
    latencyMs: { least: 5, most: 5 },
    faults: { throttled: { share: 0.1 }, 'server-error': { share: 0.1 } },
    seed: 2,
  });
}

/** Asks for the metrics again and again until they are no more. */
async function scraped(child: ChildRun): Promise<Sample[][]> {
  const scrapes: Sample[][] = [];
  let text = '';
  const address = await new Promise<string>((resolve, reject) => {
    child.process.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const found = /"event":"metrics-served".*"address":"([^"]+)"/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.process.on('close', () => {
      reject(new Error(text));
    });
  });
  for (;;) {
    try {
      const response = await fetch(address);
      expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
      scrapes.push(samplesOf(await response.text()));
    } catch {
      return scrapes;
    }
    await systemClock.sleep(100);
  }
}

test('a paced run tells everything as JSON, and its metrics end as its summary does', async () => {
  const url = await faultyServer();
  const folder = await temporaryFolder();
  const metricsFile = join(folder, 'run.prom');
  const words = [
    ...['backfill', '--lake', join(folder, 'lake'), '--endpoint', url, '--account', 'shop', '--json'],
    ...['--rate', '12', '--burst', '5', '--log-format', 'json', '--verbose'],
    ...['--metrics-port', '0', '--metrics-file', metricsFile],
  ];
  const child = childRun(words);
  const [scrapes, ended] = await Promise.all([scraped(child), child.ended]);
  expect(ended.code, ended.errors).toBe(0);
  const { pipelines } = JSON.parse(ended.output) as Ran['summary'];

  // Each line is an event with the fields that it is said to have.
  const documented = await documentedEvents();
  const lines = linesOf(ended.errors);
  for (const line of lines) {
    const { level, time, event, account, run, ...fields } = line;
    const known = documented.get(String(event));
    expect(level, String(event)).toBe(known?.level);
    expect(new Date(String(time)).toISOString()).toBe(time);
    expect(account).toBe(event === 'metrics-served' ? null : 'shop');
    expect(typeof run).toBe(event === 'metrics-served' ? 'object' : 'string');
    const own = known?.fields.filter((name) => name !== 'account' && name !== 'run').toSorted();
    expect(Object.keys(fields).toSorted(), String(event)).toEqual(own);
  }
  const of = (event: string): Line[] => lines.filter((line) => line['event'] === event);
  expect(of('run-started')).toHaveLength(1);
  expect(of('run-ended')).toMatchObject([{ status: 'done' }]);
  for (const [pipeline, counts] of Object.entries(pipelines)) {
    const own = (event: string): Line[] => of(event).filter((line) => line['pipeline'] === pipeline);
    expect(own('request-sent')).toHaveLength(counts['requests'] ?? NaN);
    expect(own('request-sent').filter(({ cause }) => cause !== null)).toHaveLength(counts['retries'] ?? NaN);
    expect(own('request-failed').filter(({ cause }) => cause === 'throttled')).toHaveLength(counts['throttled'] ?? NaN);
    expect(own('slice-committed')).toHaveLength(counts['slices'] ?? NaN);
    expect(own('pipeline-ended')).toMatchObject([{ bytes: counts['bytes'], files: counts['files'] }]);
  }
  expect(of('request-failed').map(({ cause }) => cause)).toEqual(expect.arrayContaining(['throttled', 'fault']));

  // The file has the last of the metrics; those that were asked for on the way led there.
  const last = samplesOf(await readFile(metricsFile, 'utf8'));
  for (const [pipeline, counts] of Object.entries(pipelines)) {
    const sum = (name: string): number => sumOf(last, `ledgerlake_${name}`, { pipeline, account: 'shop' });
    expect(sum('requests_total')).toBe(counts['requests']);
    expect(sum('retries_total')).toBe(counts['retries']);
    expect(sum('throttles_total')).toBe(counts['throttled']);
    expect(sum('commits_total')).toBe(counts['slices']);
    expect(sum('written_files_total')).toBe(counts['files']);
    expect(sum('written_bytes_total')).toBe(counts['bytes']);
    const rows = Object.values(counts['rows'] ?? {}) as number[];
    expect(sum('rows_total')).toBe(rows.reduce((total, count) => total + count, 0));
    expect(sum('open_slices')).toBe(0);
  }
  expect(sumOf(last, 'ledgerlake_run_succeeded', { command: 'backfill' })).toBe(1);
  const lag = sumOf(last, 'ledgerlake_lag_seconds', { pipeline: 'financial-events' });
  expect(lag).toBeGreaterThan(295);
  expect(lag).toBeLessThan(400);
  expect(scrapes.length).toBeGreaterThan(3);
  const requests = scrapes.map((scrape) => sumOf(scrape, 'ledgerlake_requests_total', {}));
  expect(requests).toEqual(requests.toSorted((a, b) => a - b));
  expect(requests.some((count) => count > 0 && count < sumOf(last, 'ledgerlake_requests_total', {}))).toBe(true);
  expect(Math.max(...scrapes.map((scrape) => sumOf(scrape, 'ledgerlake_open_slices', {})))).toBeGreaterThan(0);
  expect(await readdir(folder)).toEqual(['lake', 'run.prom']);
});

test('a port that is taken, or a folder that is not there, ends a run before anything is touched', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const folder = await temporaryFolder();
  const taken = await builtCommand(['backfill', '--metrics-port', String(port)], { folder });
  expect(taken).toMatchObject({ code: 2, out: '' });
  expect(taken.err).toBe(
    `ledgerlake: USAGE: expected an address to serve metrics on, but port ${port} of 127.0.0.1 is in use; ` +
      'choose another with --metrics-port, 0 for any\n',
  );
  const nowhere = await builtCommand(['sync', '--metrics-file', 'nowhere/m.prom'], {
    folder,
    environment: { LEDGERLAKE_LOG_FORMAT: 'json' },
  });
  expect(nowhere.code).toBe(2);
  expect(linesOf(nowhere.err)).toMatchObject([
    {
      level: 'error',
      event: 'failed',
      code: 'USAGE',
      exitCode: 2,
      message: expect.stringContaining('nowhere') as string,
    },
  ]);
  expect(await readdir(folder)).toEqual([]);
});

test('--quiet tells errors only, a broken command line in the format that is asked for', async () => {
  const folder = await temporaryFolder();
  const range = ['--from', '2026-02-25', '--to', '2026-02-26'];
  const quiet = await builtCommand(['backfill', 'financial-events', '--quiet', ...range], { folder });
  expect(quiet).toMatchObject({ code: 0, err: '' });
  const wrong = await builtCommand(['backfill', '--quiet', '--from', 'x'], { folder });
  expect(wrong.err).toMatch(/^ledgerlake: [^\n]+\n$/);
  const unknown = await builtCommand(['backfill', '--frm', 'x', '--log-format', 'json'], { folder });
  expect(linesOf(unknown.err)).toMatchObject([{ event: 'failed', code: 'USAGE', stack: null }]);
  const stack = await builtCommand(['backfill', '--frm', 'x', '--log-format', 'json', '--verbose'], { folder });
  expect(linesOf(stack.err)).toMatchObject([{ code: 'USAGE', stack: expect.stringContaining('\n    at ') as string }]);
  const colourful = await builtCommand(['backfill', '--from', 'x'], { folder, environment: { FORCE_COLOR: '1' } });
  expect(colourful.err).toMatch(/^\u001b\[31mledgerlake: /);
});

describe('a file of metrics for several accounts', () => {
  const account = (name: string) => ({
    endpoint: 'http://127.0.0.1:9',
    clientId: 'i',
    clientSecret: 's',
    refreshToken: { env: `NOT_SET_${name}` },
  });
  const configured = async (metricsFile: string) => {
    const folder = await temporaryFolder();
    const config = { settings: { metricsFile }, accounts: { east: account('EAST'), west: account('WEST') } };
    await writeFile(join(folder, 'ledgerlake.config.json'), JSON.stringify(config), { mode: 0o600 });
    return folder;
  };

  test('has the account in its name; a night that fails before it begins is in it', async () => {
    const folder = await configured('{account}.prom');
    for (const name of ['east', 'west']) {
      expect(await builtCommand(['sync', '--account', name, '--lake', 'lake'], { folder })).toMatchObject({ code: 2 });
      const samples = samplesOf(await readFile(join(folder, `${name}.prom`), 'utf8'));
      const of = { account: name, command: 'sync' };
      expect(samples.filter(({ name }) => name === 'ledgerlake_run_succeeded')).toMatchObject([
        { labels: of, value: 0 },
      ]);
      expect(sumOf(samples, 'ledgerlake_run_ended_timestamp_seconds', of)).toBeGreaterThan(1e9);
    }
    // No account, a name that can't be a folder, and a dry run leave nothing.
    for (const words of [['sync'], ['sync', '--account', '../x'], ['backfill', '--dry-run', '--account', 'nobody']]) {
      expect(await builtCommand(words, { folder })).toMatchObject({ code: 2 });
    }
    expect((await readdir(folder)).toSorted()).toEqual(['east.prom', 'ledgerlake.config.json', 'west.prom']);
  });

  test('is refused without it', async () => {
    const folder = await configured('lake.prom');
    const ended = await builtCommand(['sync', '--account', 'east'], { folder });
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toMatch(
      /^ledgerlake: USAGE: expected \{account\} in `metricsFile` of ledgerlake\.config\.json, which has 2 accounts, got .*lake\.prom; /,
    );
    expect(await readdir(folder)).toEqual(['ledgerlake.config.json']);
    // One that is named for this run is its own.
    const named = ['sync', '--account', 'east', '--metrics-file', 'own.prom', '--config', 'ledgerlake.config.json'];
    expect((await builtCommand(named, { folder })).err).toContain('NOT_SET_EAST');
    expect((await readdir(folder)).toSorted()).toEqual(['ledgerlake.config.json', 'own.prom']);
  });
});
