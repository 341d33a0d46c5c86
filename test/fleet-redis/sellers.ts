import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/clock.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import type { Backend } from '../../src/serve/served-apis.js';
import type { BackendPage } from '../../src/serve/operation/backend-page.js';
import { database, temporaryFolder } from '../app/lake-run.js';
import { watchedServer, type WatchedServer } from '../engine/run/watched-server.js';

const dayMs = 86_400_000;

/** Synthetic sellers, each with a service and with it a quota of its own. */
export interface Sellers {
  readonly names: readonly string[];
  readonly servers: ReadonlyMap<string, WatchedServer>;
  readonly backends: ReadonlyMap<string, Backend>;
  /** When each was asked something, by `performance.now()`. */
  readonly times: ReadonlyMap<string, number[]>;
  readonly lake: string;
  /** Of the test's own. */
  readonly folder: string;
  readonly config: string;
  /** As they are given on the command line. */
  readonly from: string;
  readonly to: string;
  /** Writes the configuration with these accounts. */
  configure(names: readonly string[]): Promise<void>;
}

export interface SellerSettings {
  readonly count: number;
  /** Events of each in 90 days. */
  readonly events?: number;
  readonly quota?: { readonly rate: number; readonly burst: number };
  readonly latencyMs?: number;
  /** Left out: a folder of the test's own. */
  readonly lake?: string;
  /** More settings of all accounts. */
  readonly settings?: object;
}

/** Starts the services, gone when the test ends, and writes a configuration for them. The range ends ten days ago. */
export async function startSellers({
  count,
  events = 60,
  quota = { rate: 2, burst: 4 },
  latencyMs = 100,
  ...more
}: SellerSettings): Promise<Sellers> {
  const folder = await temporaryFolder();
  const names = Array.from({ length: count }, (_, n) => `shop-${String(n).padStart(3, '0')}`);
  const servers = new Map<string, WatchedServer>();
  const backends = new Map<string, Backend>();
  const times = new Map<string, number[]>();
  for (const [n, name] of names.entries()) {
    const backend = createSeller({ seed: n + 1, events, profile: 'edge-cases' }, systemClock);
    // A busy machine delivers a request late, and the next one comes closer to it than it was sent.
    const server = await watchedServer(backend, systemClock, { quota: { ...quota, burst: quota.burst + 1 } });
    server.slowness = latencyMs;
    const asked: number[] = [];
    server.onRequest = () => asked.push(performance.now());
    times.set(name, asked);
    onTestFinished(() => server.close());
    servers.set(name, server);
    backends.set(name, backend);
  }
  const { lake = join(folder, 'lake'), settings = {} } = more;
  const config = join(folder, 'ledgerlake.config.json');
  const configure = async (chosen: readonly string[]): Promise<void> => {
    const accounts = Object.fromEntries(chosen.map((name) => [name, { endpoint: servers.get(name)?.url }]));
    await writeFile(config, JSON.stringify({ settings: { lake, ...quota, ...settings }, accounts }));
  };
  await mkdir(folder, { recursive: true });
  await configure(names);
  return { names, servers, backends, times, lake, folder, config, from: daysAgo(30), to: daysAgo(10), configure };
}

/** A date, as it is given on the command line. */
export function daysAgo(days: number): string {
  return new Date(Math.floor(Date.now() / dayMs - days) * dayMs).toISOString().slice(0, 10);
}

/** Every event of a seller in a range, as it stands there. */
async function eventsIn(backend: Backend, from: string, to: string): Promise<string[]> {
  const found: string[] = [];
  const range = { start: Date.parse(from), end: Date.parse(to) };
  for (let cursor: string | undefined; ;) {
    const page: BackendPage = await backend.events(range, { limit: 100, cursor, asOf: Date.now() });
    found.push(...page.items.map(({ json }) => json));
    cursor = page.next;
    if (cursor === undefined) return found;
  }
}

/** Each seller's lake holds, of the range, each event of its backend, as often as that, and nothing else. */
export async function expectWholeLakes({ names, backends, lake, from, to }: Sellers): Promise<void> {
  const query = `SELECT account, raw FROM events WHERE window_start >= '${from}' AND window_end <= '${to}'`;
  const rows = await (await database(lake, systemClock, query)).rows(query);
  const held = new Map<string, string[]>();
  for (const { account, raw } of rows) held.set(String(account), [...(held.get(String(account)) ?? []), String(raw)]);
  for (const name of names) {
    const backend = backends.get(name);
    if (backend === undefined) throw new Error(`there is no ${name}`);
    const wanted = await eventsIn(backend, from, to);
    expect(wanted.length, name).toBeGreaterThan(0);
    expect((held.get(name) ?? []).toSorted(), name).toEqual(wanted.toSorted());
  }
}

/** Requests that were answered with 429. */
export function throttled({ servers }: Sellers): number {
  return [...servers.values()].reduce((sum, { counts }) => sum + counts.requests(undefined, 429), 0);
}

/** Pages that a seller was asked for more than once: how often too often. */
export function askedAgain({ servers }: Sellers, name: string): number {
  const asked = servers.get(name)?.asked ?? [];
  return asked.length - new Set(asked).size;
}
