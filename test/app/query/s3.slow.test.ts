import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startEmulator } from '../../../src/emulator/emulator.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { startS3Server, type S3Server } from '../../s3-server/server.js';
import { builtCommand } from '../built-command.js';
import { clockAt, ran } from '../lake-run.js';

const clock = clockAt('2026-03-15T12:00:00Z');
const lake = 's3://bucket/parquet/lake';

/** What is missing, and the statement that installs it, in one line. */
const missing =
  /^[^\n]*expected DuckDB's extension httpfs, which reads a lake on S3, got none; .*`(?:npx )?ledgerlake sql --lake "\$\(mktemp -d\)" "INSTALL httpfs"`[^\n]*\n$/;

let server: S3Server;
/** Of a user whose home has no extension of DuckDB. */
let environment: Readonly<Record<string, string>>;
let folder: string;

beforeAll(async () => {
  server = await startS3Server('bucket');
  for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
  folder = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
  environment = { ...server.environment, HOME: folder };
  const seller = await startEmulator({
    ledger: createSeller({ seed: 3, events: 60, profile: 'edge-cases' }, clock),
    clock,
  });
  const range = { pipelines: ['financial-events'], from: '2026-01-01', to: '2026-01-15' };
  await ran({ lake, endpoint: seller.url, account: 'shop', ...range }, { clock });
  await seller.close();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await server.close();
  await rm(folder, { recursive: true });
});

test('commands over a lake on S3 name the extension that DuckDB lacks, and accuse no file', async () => {
  for (const words of [['sql', 'SELECT count(*) FROM events'], ['report']]) {
    const { code, out, err } = await builtCommand([...words, '--lake', lake], { folder, environment });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(missing);
    expect(err).not.toMatch(/damaged|backfill|verify/);
  }
});

test('a program that queries a lake on S3 gets the same line', async () => {
  const script =
    `import { openLake } from ${JSON.stringify(pathToFileURL(resolve('dist/src/index.js')).href)};` +
    `const lake = await openLake('${lake}');` +
    `await lake.sql('SELECT count(*) FROM events').catch(({ code, message }) => console.log(code, message));` +
    `await lake.close();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const out = await text(child.stdout);
  expect(out).toMatch(missing);
  expect(out).toMatch(/^SQL /);
  expect(out).not.toContain('damaged');
});

test('serve over a lake on S3 serves its events, and says why it has no report', async () => {
  const child = spawn(process.execPath, [resolve('dist/src/cli.js'), 'serve', '--lake', lake, '--port', '0'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill());
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => (log += more));
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const address = /http:\/\/\S+/.exec(line)?.[0] ?? '';
  const events = await fetch(`${address}/finances/v0/financialEvents?PostedAfter=2026-01-01T00:00:00Z`);
  expect(events.status).toBe(200);
  const report = await fetch(`${address}/`);
  expect(await report.text()).toContain("The report can't be shown");
  await expect.poll(() => log).toMatch(/httpfs/);
  expect(log.split('\n').find((one) => one.includes('httpfs'))).toMatch(/got none; .*INSTALL httpfs/);
  expect(log).not.toContain('damaged');
  child.kill();
  await once(child, 'close');
});
