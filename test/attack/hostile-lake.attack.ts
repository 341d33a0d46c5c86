import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { startApiServer } from '../../src/serve/http/server.js';
import { settlement, shipment } from '../app/verify/small-backend.js';
import { sharedOut } from '../campaign.js';
import { arrayBackend, type DatedItem } from '../serve/http/array-backend.js';
import { arrayTransactions, type Sale } from '../serve/http/array-transactions.js';
import { parcelServer, shipmentsOf, token } from '../sources/custom/parcel-server.js';
import { canariesOf, plantCanaries, secretsIn, touched } from './canaries.js';
import { CommandProcess, type Ended } from './command-process.js';
import { pathsOf } from './damages.js';
import { attacks, type Attack, mainTables, type MainTable, type Scene } from './hostile-lakes.js';

/** LEDGERLAKE_TEST_ONLY='^link' takes the attacks whose kind and name the pattern fits. */
const only = new RegExp(process.env['LEDGERLAKE_TEST_ONLY'] ?? '');
const hangMs = 60_000;
/** `serve` is asked several times, on a machine that may be busy. */
const servedMs = 5 * hangMs;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const days = 45;
/** Longer lines than these on stderr are dumps. */
const longest = 700;
const stack =
  /\n\s+at .*:\d+:\d+|RuntimeError|unreachable|panicked|TypeError|RangeError|SyntaxError|undefined is not|\[object Object\]|uncaught/;
const definitions = fileURLToPath(new URL('../sources/custom/pipelines', import.meta.url));

interface Seed {
  readonly folder: string;
  readonly lake: string;
  /** A data file with a secret of each main table. */
  readonly parquets: Readonly<Record<MainTable, string>>;
  readonly network: string;
  readonly asked: string[];
  readonly month: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly commands: readonly (readonly string[])[];
  readonly requests: readonly string[];
  readonly close: () => Promise<void>;
}

function itemsOf(start: number, sku: (at: string) => string): DatedItem[] {
  const at = (day: number, hour: number): string => new Date(start + day * dayMs + hour * hourMs).toISOString();
  const all: DatedItem[] = [];
  for (let day = 0; day < days; day++) {
    const { json, ...item } = shipment(at(day, 2), String(day), '25.00', '-4.00', `GROUP-${Math.floor(day / 15)}`);
    all.push({ ...item, json: json.replace(/"SellerSKU":"[^"]*"/, `"SellerSKU":"${sku(at(day, 2))}-${day}"`) });
  }
  for (let number = 0; number * 15 < days; number++) {
    const end = at((number + 1) * 15, 0);
    all.push(settlement({ id: `GROUP-${number}`, start: at(number * 15, 0), end, beginning: '0.00', total: '315.00' }));
  }
  return all;
}

function salesOf(start: number, sku: (at: string) => string): Sale[] {
  return Array.from({ length: days }, (_, day) => {
    const at = start + day * dayMs + 2 * hourMs;
    const order = `111-0000000-${String(day).padStart(7, '0')}`;
    return { at, order, settlement: `SETTLEMENT-${day}`, sku: `${sku(new Date(at).toISOString())}-${day}`, amount: 21 };
  });
}

const skusOfTransactions = "SELECT DISTINCT sku FROM transaction_entries WHERE account = 'shop' ORDER BY ALL LIMIT 500";

async function seeded(): Promise<Seed> {
  const folder = mkdtempSync(join(tmpdir(), 'ledgerlake-hostile-'));
  const start = Math.floor(Date.now() / dayMs) * dayMs - 50 * dayMs;
  const date = (day: number): string => new Date(start + day * dayMs).toISOString().slice(0, 10);
  const month = date(0).slice(0, 7);
  const skus: Readonly<Record<string, (at: string) => string>> = {
    shop: (at) => (at.startsWith(month) ? 'SECRET-LINKED' : 'SKU'),
    other: () => 'SECRET-OTHER',
    outside: () => 'SECRET-OUTSIDE',
  };
  let closeParcels = (): Promise<void> => Promise.resolve();
  const parcels = await parcelServer(shipmentsOf(`${date(0)}T00:00:00Z`, 4, 9), (close) => {
    closeParcels = close;
  });
  const asked: string[] = [];
  const network = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(404).end();
  });
  network.listen(0, '127.0.0.1');
  await once(network, 'listening');
  const networkUrl = `http://127.0.0.1:${(network.address() as AddressInfo).port}`;
  const environment = {
    PARCELS_URL: parcels.url,
    PARCELS_TOKEN: token,
    AWS_ENDPOINT_URL_S3: networkUrl,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'key',
  };
  const orders = join(folder, 'orders.txt');
  writeFileSync(orders, '111-0000000-0000001\n');
  const process = new CommandProcess({ folder, environment, hangMs: 120_000 });
  const servers: Record<string, Awaited<ReturnType<typeof startApiServer>>> = {};
  const upstream = (account: string): string[] => {
    const url = servers[account]?.url ?? '';
    return ['--account', account, '--endpoint', url, '--rate', '1000', '--burst', '1000'];
  };
  const range = ['--from', date(0), '--to', date(days)];
  for (const [account, sku] of Object.entries(skus)) {
    const backend = { ...arrayBackend(itemsOf(start, sku)), byTransaction: arrayTransactions(salesOf(start, sku)) };
    servers[account] = await startApiServer({ backend, clock: systemClock });
    const lake = join(folder, account === 'outside' ? 'shadow' : 'lake');
    const own = ['--pipelines', definitions, '--account', account, '--from', date(0), '--to', date(4)];
    for (const words of [
      ['backfill', ...upstream(account), ...range, '--api', 'both'],
      ['backfill', 'order-events', 'order-transactions', ...upstream(account), ...range, '--orders', orders],
      ['backfill', 'shipments', ...own],
      ['export', 'iceberg'],
      ['export', 'symlinks'],
    ]) {
      const ended = await process.run([...words, '--lake', lake]);
      if (ended.code !== 0) throw new Error(`expected ${words.join(' ')} to end well: ${ended.err}`);
    }
  }
  process.close();
  const shadow = join(folder, 'shadow');
  const parquetOf = (main: MainTable): string => {
    const isIts = new RegExp(`^${main}/account=.*parquet$`);
    return join(shadow, pathsOf(shadow).find((path) => isIts.test(path)) ?? '');
  };
  const parquets = { events: parquetOf('events'), transactions: parquetOf('transactions') };
  const after = (name: string, more = ''): string => `${name}=${encodeURIComponent(`${date(0)}T00:00:00Z`)}${more}`;
  return {
    folder,
    lake: join(folder, 'lake'),
    parquets,
    network: networkUrl,
    asked,
    month,
    environment,
    commands: [
      ['status'],
      ['plan', ...upstream('shop'), ...range, '--api', 'both'],
      ['sql', '--format', 'csv', 'SELECT count(*) AS n FROM events'],
      ['sql', '--format', 'csv', 'SELECT count(*) AS n FROM transactions'],
      ['sql', '--format', 'csv', "SELECT DISTINCT sku FROM entries WHERE account = 'shop' ORDER BY ALL LIMIT 500"],
      ['sql', '--format', 'csv', skusOfTransactions],
      ['report', '--account', 'shop', '-o', '-'],
      ['verify'],
      ['export', 'iceberg'],
      ['export', 'symlinks'],
      ['backfill', ...upstream('shop'), ...range, '--api', 'both'],
      ['backfill', 'shipments', '--pipelines', definitions, '--account', 'shop', '--from', date(0), '--to', date(4)],
      ['sync', ...upstream('shop'), '--api', 'both'],
      ['compact'],
      ['rebuild'],
      ['repair', '--yes'],
      ['forget', '--account', 'shop', '--yes'],
    ],
    requests: [
      '/healthz',
      '/',
      `/finances/v0/financialEvents?${after('PostedAfter')}`,
      `/finances/v0/financialEventGroups?${after('FinancialEventGroupStartedAfter')}`,
      '/finances/v0/financialEventGroups/GROUP-0/financialEvents',
      '/finances/v0/orders/111-0000000-0000001/financialEvents',
      `/finances/2024-06-19/transactions?${after('postedAfter')}`,
      `/finances/transfers/2024-06-01/payouts?${after('createdAfter')}`,
    ],
    close: async () => {
      await closeParcels();
      network.closeAllConnections();
      network.close();
      for (const server of Object.values(servers)) await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Serves a lake in a process of its own, and asks it for everything. */
async function served({ folder, environment, requests }: Seed, lake: string): Promise<Ended> {
  const words = ['serve', '--account', 'shop', '--port', '0', '--rate', '1000', '--burst', '1000'];
  const began = performance.now();
  const child = spawn(process.execPath, [resolve('dist/src/cli.js'), ...words, '--lake', lake], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: process.env['TMPDIR'], ...environment },
  });
  const state = { out: '', err: '', hung: false };
  const timer = setTimeout(() => {
    state.hung = true;
    child.kill('SIGKILL');
  }, servedMs);
  child.stderr.on('data', (chunk: Buffer) => (state.err += chunk.toString()));
  const closed = once(child, 'close');
  const address = new Promise<string | undefined>((found) => {
    child.stdout.on('data', (chunk: Buffer) => {
      state.out += chunk.toString();
      const url = /http:\S+/.exec(state.out)?.[0];
      if (url !== undefined) found(url);
    });
    void closed.then(() => {
      found(undefined);
    });
  });
  const url = await address;
  for (const request of url === undefined ? [] : requests) {
    const answer = await fetch(`${url ?? ''}${request}`, { signal: AbortSignal.timeout(servedMs) })
      .then(async (response) => `${response.status} ${await response.text()}`)
      .catch((error: unknown) => {
        state.hung ||= error instanceof Error && error.name === 'TimeoutError';
        return `no answer: ${String(error)}`;
      });
    state.out += `\n${request}: ${answer}`;
  }
  child.kill('SIGTERM');
  await closed;
  clearTimeout(timer);
  return {
    words,
    ...state,
    code: child.exitCode ?? -1,
    died: child.signalCode !== null,
    ms: performance.now() - began,
  };
}

/** What is wrong with how a command has ended. */
function faultsOf({ words, code, out, err, died, hung }: Ended): string[] {
  const faults: string[] = [];
  if (hung) return ['hangs'];
  if (died) faults.push('dies');
  if (![0, 1, 2].includes(code)) faults.push(`ends with ${code}`);
  if (stack.test(`\n${err}`) || (words[0] === 'serve' && stack.test(out)))
    faults.push(`shows its inside: ${err.slice(0, 900)}`);
  const long = err.split('\n').find((line) => line.length > longest);
  if (long !== undefined) faults.push(`says ${long.length} characters: ${long.slice(0, 300)}`);
  if (code !== 0 && `${err}${out}`.trim() === '') faults.push(`ends with ${code} and says nothing`);
  const errors = err.split('\n').filter((line) => line.startsWith('ledgerlake: ') || line.startsWith('error'));
  if (code === 2 && errors.length !== 1) faults.push(`ends with 2 and ${errors.length} errors: ${err.slice(0, 600)}`);
  for (const secret of secretsIn(`${out}${err}`)) faults.push(`shows ${secret}`);
  return faults;
}

function sceneOf(seed: Seed, folder: string): Scene {
  rmSync(folder, { recursive: true, force: true });
  const scene = {
    lake: join(folder, 'lake'),
    outside: join(folder, 'outside'),
    network: seed.network,
    month: seed.month,
  };
  cpSync(seed.lake, scene.lake, { recursive: true, preserveTimestamps: true });
  plantCanaries(scene.outside, seed.parquets);
  return scene;
}

/** Commands that write to the parts of all accounts. */
const lakeWide = ['compact', 'rebuild'];
const writers = ['export', 'backfill', 'sync', 'compact', 'rebuild', 'forget'];

interface Trial {
  readonly attack: Attack;
  readonly faults: readonly string[];
  readonly codes: readonly string[];
  readonly commands: number;
}

/** Data files of the other account, which no command for `shop` changes or deletes. */
function filesOfOther(lake: string): Map<string, string> {
  const folders = readdirSync(lake).map((table) => join(lake, table, 'account=other'));
  return new Map(
    folders
      .filter((folder) => lstatSync(dirname(folder)).isDirectory() && existsSync(folder))
      .flatMap((folder) => [...canariesOf(folder)].filter(([path]) => path.endsWith('.parquet'))),
  );
}

/** Runs every command on a lake that was attacked, each writer on a lake of its own. */
async function trialOf(seed: Seed, attack: Attack, run: CommandProcess, folder: string): Promise<Trial> {
  const faults: string[] = [];
  const codes: string[] = [];
  let scene: Scene | undefined;
  for (const words of [...seed.commands, ['serve']]) {
    const [command = ''] = words;
    if (scene === undefined || writers.includes(command) || command === 'serve') {
      scene = sceneOf(seed, folder);
      attack.make(scene);
    }
    const before = canariesOf(scene.outside);
    const others = lakeWide.includes(command) ? undefined : filesOfOther(scene.lake);
    const ended =
      command === 'serve' ? await served(seed, scene.lake) : await run.run([...words, '--quiet', '--lake', scene.lake]);
    const wrong = [
      ...faultsOf(ended).filter((fault) => attack.hasMovedAll === true || fault !== 'shows SECRET-LINKED'),
      ...touched(before, canariesOf(scene.outside)),
      ...(others === undefined
        ? []
        : touched(others, filesOfOther(scene.lake)).filter((text) => !text.startsWith('created'))),
      ...seed.asked.splice(0).map((path) => `asked the network for ${path}`),
    ];
    codes.push(`${command} ${ended.code}`);
    for (const fault of wrong) faults.push(`${words.join(' ').slice(0, 90)} → ${ended.code}: ${fault}`);
  }
  rmSync(folder, { recursive: true, force: true });
  return { attack, faults, codes, commands: codes.length };
}

function tally(trials: readonly Trial[]): Record<string, Record<string, number>> {
  const kinds = [...new Set(trials.map(({ attack }) => attack.kind))];
  return Object.fromEntries(
    kinds.map((kind) => {
      const own = trials.filter(({ attack }) => attack.kind === kind);
      const commands = own.reduce((sum, trial) => sum + trial.commands, 0);
      return [kind, { tried: own.length, held: own.filter(({ faults }) => faults.length === 0).length, commands }];
    }),
  );
}

const controls: Readonly<Record<string, readonly [act: (outside: string) => void, said: string]>> = {
  changed: [
    (outside) => {
      appendFileSync(join(outside, 'canary.txt'), 'x');
    },
    'changed /canary.txt',
  ],
  replaced: [
    (outside) => {
      const text = readFileSync(join(outside, 'canary.txt'));
      rmSync(join(outside, 'canary.txt'));
      writeFileSync(join(outside, 'canary.txt'), text);
    },
    'changed /canary.txt',
  ],
  deleted: [
    (outside) => {
      rmSync(join(outside, 'canary.txt'));
    },
    'deleted /canary.txt',
  ],
  created: [
    (outside) => {
      mkdirSync(join(outside, 'folder', 'new'));
    },
    'created /folder/new',
  ],
};

let seed: Seed;
let runs: readonly CommandProcess[];
beforeAll(async () => {
  seed = await seeded();
  runs = [0, 1].map(() => new CommandProcess({ folder: seed.folder, environment: seed.environment, hangMs }));
});
afterAll(async () => {
  for (const run of runs) run.close();
  await seed.close();
});

test('what reaches a canary is seen, and a sound lake is read and served', async () => {
  const [run] = runs;
  if (run === undefined) throw new Error('no process');
  const folder = join(seed.folder, 'trial');
  for (const [name, [act, said]] of Object.entries(controls)) {
    const { outside } = sceneOf(seed, folder);
    const before = canariesOf(outside);
    expect([name, touched(before, canariesOf(outside))]).toEqual([name, []]);
    act(outside);
    expect([name, touched(before, canariesOf(outside))]).toEqual([name, expect.arrayContaining([said])]);
  }
  const sound = sceneOf(seed, folder);
  const shown = async (text: string): Promise<string[]> =>
    secretsIn((await run.run(['sql', '--format', 'csv', '--lake', sound.lake, text])).out);
  expect(await shown("SELECT sku FROM entries WHERE account = 'shop'")).toEqual(['SECRET-LINKED']);
  expect(await shown("SELECT sku FROM entries WHERE account = 'other'")).toEqual(['SECRET-OTHER']);
  expect(await shown(skusOfTransactions)).toEqual(['SECRET-LINKED']);
  for (const table of mainTables) {
    expect(await shown(`SELECT * FROM '${sound.outside}/${table}.parquet'`)).toEqual(['SECRET-OUTSIDE']);
  }
  const before = canariesOf(sound.outside);
  await run.run(['sql', '--lake', sound.lake, `COPY (SELECT 1) TO '${sound.outside}/.bashrc'`]);
  expect(touched(before, canariesOf(sound.outside))).toContain('changed /.bashrc');
  const soundly = await served(seed, sound.lake);
  expect([soundly.code, secretsIn(soundly.out), soundly.out.match(/: 200 /g)?.length]).toEqual([
    0,
    ['SECRET-LINKED'],
    seed.requests.length,
  ]);
  const nothing: Attack = { kind: 'path', name: 'none', make: () => undefined };
  const control = await trialOf(seed, nothing, run, folder);
  expect([control.faults, control.codes.filter((code) => !code.endsWith(' 0'))]).toEqual([[], []]);
});

test.each(['description', 'path', 'value', 'link', 'fifo'])(
  'no lake that an attacker hands over with a %s reaches, shows or changes what is outside of it',
  async (wanted) => {
    const trials: Trial[] = [];
    const left = [...sharedOut(attacks().filter(({ kind, name }) => kind === wanted && only.test(`${kind} ${name}`)))];
    const work = async (run: CommandProcess, folder: string): Promise<void> => {
      for (let attack = left.shift(); attack !== undefined; attack = left.shift()) {
        const trial = await trialOf(seed, attack, run, folder);
        trials.push(trial);
        const name = `${attack.kind}: ${attack.name}`;
        if (trial.faults.length > 0) console.log(`${name}\n  ${trial.faults.join('\n  ')}`);
        if (process.env['LEDGERLAKE_TEST_CODES'] !== undefined) console.log(`${name}: ${trial.codes.join(', ')}`);
      }
    };
    await Promise.all(runs.map((run, at) => work(run, join(seed.folder, `trial-${at}`))));
    console.table(tally(trials));
    const through = trials.filter(({ faults }) => faults.length > 0);
    expect(through.map(({ attack, faults }) => `${attack.kind}: ${attack.name}: ${faults.join('; ')}`)).toEqual([]);
  },
);
