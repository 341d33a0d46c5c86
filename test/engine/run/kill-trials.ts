import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { clockAt } from '../../app/lake-run.js';
import { contents, globbed, truthOf } from '../../lake/lake-truth.js';
import { childRun } from './child-run.js';
import { differentRows, filesOf } from './disk-lake.js';
import { watchedServer, type WatchedServer } from './watched-server.js';

/** What is killed: a command, and what the lake holds before it. */
export interface Killable {
  readonly words: readonly string[];
  /** What the service answers by. */
  readonly now: string;
  /** Whether the command goes by that instant too; else by its machine's clock. */
  readonly isClockSet: boolean;
  /** A command that came to its end before, at an instant of its own. */
  readonly before?: Killable;
}

const now = '2025-06-20T12:00:00Z';
const range = ['--from', '2025-05-08', '--to', '2025-06-11'];
const newer = ['--api', '2024-06-19'];

/** A backfill of v0: what trials kill where they don't say another. */
export const backfill: Killable = { words: ['backfill', ...range], now, isClockSet: false };
export const killables = {
  backfill,
  'backfill of transactions': { ...backfill, words: [...backfill.words, ...newer] },
  'sync of transactions that were deferred and are released': {
    words: ['sync', '--look-back', '2', ...newer],
    now,
    isClockSet: true,
    before: { words: ['backfill', '--from', '2025-05-08', ...newer], now: '2025-06-11T12:00:00Z', isClockSet: true },
  },
} as const satisfies Record<string, Killable>;

/** Whose events they are. */
export const account = 'shop';

/** A lake that nothing disturbed, and what it took. */
export interface Undisturbed {
  readonly lake: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** What was asked for, in any order. */
  readonly asked: readonly string[];
  /** Steps on the disk. */
  readonly steps: number;
  readonly of: Killable;
  /** The lake that trials begin with, where there is one. */
  readonly before: string | undefined;
  readonly remove: () => Promise<void>;
}

/** Where a run is killed: at a step of its own on the disk, or some milliseconds after a request has come in. */
export type KillPoint =
  | { readonly kind: 'step'; readonly at: number }
  | { readonly kind: 'request'; readonly number: number; readonly ms: number };

/** The seller that all trials read. */
export function server({ now }: Pick<Killable, 'now'> = backfill): Promise<WatchedServer> {
  const clock = clockAt(now);
  return watchedServer(createSeller({ seed: 3, events: 500, profile: 'edge-cases' }, clock), clock);
}

/** The command that all trials run. */
export function words(lake: string, upstream: WatchedServer, ...more: string[]): string[] {
  return commandOf(backfill, lake, upstream, ...more);
}

function commandOf({ words: own }: Killable, lake: string, { url }: WatchedServer, ...more: string[]): string[] {
  const quota = ['--rate', '1000', '--burst', '1000'];
  return [...own, '--lake', lake, '--endpoint', url, '--account', account, ...quota, ...more];
}

/** The clock that a command goes by. */
const clockOf = ({ isClockSet, now }: Killable): { now?: string } => (isClockSet ? { now } : {});

/** A place for a lake, and how to be rid of it. */
export async function folder(): Promise<{ lake: string; remove: () => Promise<void> }> {
  const top = await mkdtemp(join(tmpdir(), 'ledgerlake-kill-'));
  return { lake: join(top, 'lake'), remove: () => rm(top, { recursive: true, force: true }) };
}

/** Runs to the end without being disturbed. */
export async function undisturbed(of: Killable = backfill): Promise<Undisturbed> {
  const before = of.before && (await undisturbed(of.before));
  const upstream = await server(of);
  const { lake, remove } = await folder();
  if (before !== undefined) await cp(before.lake, lake, { recursive: true });
  const { code, errors } = await childRun(commandOf(of, lake, upstream), { killAt: 0, ...clockOf(of) }).ended;
  expect(code, errors).toBe(0);
  await upstream.close();
  const steps = Number(/steps on the disk: (\d+)/.exec(errors)?.[1]);
  const removeAll = async (): Promise<void> => {
    await before?.remove();
    await remove();
  };
  const files = await filesOf(lake);
  return { lake, remove: removeAll, steps, files, asked: upstream.asked, of, before: before?.lake };
}

/** What killing a run has cost. */
export interface Survived {
  /** Runs that were killed before they ended. */
  readonly killed: number;
  /** Requests beyond those of an undisturbed run. */
  readonly repeated: number;
}

/**
 * Kills a run at each point in turn, on one lake, and lets one more come to its end: the lake is then, file for file
 * and row for row, what an undisturbed run makes, under names of its own, and nothing that was committed was asked for again. (A sync reads again what
 * is committed, and names its files by what they replace: its lake is the same row for row.)
 */
export async function killed(wanted: Undisturbed, points: readonly KillPoint[]): Promise<Survived> {
  const upstream = await server(wanted.of);
  const { lake, remove } = await folder();
  const trial = JSON.stringify(points);
  const readsAgain = wanted.before !== undefined;
  try {
    if (wanted.before !== undefined) await cp(wanted.before, lake, { recursive: true });
    let kills = 0;
    let requests = 0;
    for (const point of [...points, undefined]) {
      const committed = new Set(unitsIn(await filesOf(lake).catch(() => new Map<string, Uint8Array>())));
      upstream.asked.length = 0;
      const dead = await runUntil(wanted.of, upstream, lake, point, trial);
      kills += dead ? 1 : 0;
      requests += upstream.asked.length;
      const again = upstream.asked.filter((key) => committed.has(unitOf(key)));
      if (!readsAgain) expect(again, `${trial}: asked for again what was committed`).toEqual([]);
      if (point === undefined && !readsAgain) {
        const missing = wanted.asked.filter((key) => !committed.has(unitOf(key)));
        expect(upstream.asked.toSorted(), trial).toEqual(missing.toSorted());
      }
      const { faults } = truthOf(await filesOf(lake).catch(() => new Map<string, Uint8Array>()));
      // A sync replaces the day that wasn't over by one that is longer.
      expect(
        faults.filter((fault) => !readsAgain || !fault.endsWith(' overlap')),
        trial,
      ).toEqual([]);
    }
    const files = await filesOf(lake);
    const { counted, unpublished } = truthOf(files);
    expect(globbed(files), trial).toEqual(counted);
    expect(unpublished, trial).toEqual([]);
    if (!readsAgain) expect(contents(files), trial).toEqual(contents(wanted.files));
    expect(await differentRows(lake, wanted.lake), `${trial}: rows that differ`).toBe(0);
    return { killed: kills, repeated: requests - wanted.asked.length };
  } finally {
    await upstream.close();
    await remove();
  }
}

/** Runs until it ends or is killed; whether it was. */
async function runUntil(
  of: Killable,
  upstream: WatchedServer,
  lake: string,
  point: KillPoint | undefined,
  trial: string,
): Promise<boolean> {
  const step = point?.kind === 'step' ? { killAt: point.at } : {};
  const child = childRun(commandOf(of, lake, upstream), { ...step, ...clockOf(of) });
  let requests = 0;
  upstream.onRequest = () => {
    if (point?.kind !== 'request' || ++requests !== point.number) return;
    setTimeout(() => child.process.kill('SIGKILL'), point.ms);
  };
  const { code, signal, errors } = await child.ended;
  upstream.onRequest = () => undefined;
  if (signal !== 'SIGKILL') expect(code, `${trial}: ${errors}`).toBe(0);
  return signal === 'SIGKILL';
}

/** What the catalog says was read, as the service calls it. */
export function unitsIn(files: ReadonlyMap<string, Uint8Array>): string[] {
  return truthOf(files).read.map(({ pipeline, key }) => `${pipeline}/${key}`);
}

/** The unit that a request belongs to. */
export function unitOf(asked: string): string {
  return asked.slice(0, asked.lastIndexOf('#'));
}

/** Points drawn from a seed: half of them steps on the disk, half instants. */
export function killPoints(seed: number, count: number, { steps, asked }: Undisturbed): KillPoint[] {
  let state = seed;
  // A linear congruence is random enough to spread points, and the same everywhere.
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return Array.from({ length: count }, (_, index) => {
    if (index % 2 === 0) return { kind: 'step', at: (1 + below(steps)) * (below(2) === 0 ? 1 : -1) };
    return { kind: 'request', number: 1 + below(asked.length), ms: below(400) };
  });
}
