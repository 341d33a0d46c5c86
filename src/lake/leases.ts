import { z } from 'zod';
import { hostname } from 'node:os';
import type { Clock } from '../core/clock.js';
import type { Emit } from '../core/events/run-event.js';
import { LedgerlakeError } from '../core/errors.js';
import { parseNote, type Store } from './store/store.js';
import { isAlive as isRunning, thisWriter } from './store/writer-name.js';
import { isoInstant } from '../core/numeric/instant.js';
import { dayMs } from '../core/windows.js';
import { shellWord } from '../core/text/shell-word.js';

const folder = '_runs';

/** Interval at which a run renews its lease. */
const renewalMs = 60_000;
/** A run on another host that hasn't renewed its lease for this long counts as dead … */
const deadAfterMs = 10 * 60_000;
/** … and so does one whose lease is this far in the future, because of a wrong clock. */
const mostAheadMs = dayMs;

/** Milliseconds since 1970. */
const instant = z.number().min(0).max(8.64e15);
const leaseSchema = z.object({
  host: z.string().max(1000),
  /** The machine since its last boot, or the container on it: within it a pid identifies one process at a time. */
  machine: z.string().max(1000),
  pid: z.int().min(0),
  /** When the process started, in the system's unit. */
  start: z.string().max(1000),
  startedAt: instant,
  renewedAt: instant,
  /** Set where no other run may be active on the lake. */
  alone: z.boolean().exactOptional(),
  /** Set where the run has ended without cleaning up: a vacuum must look for its files. */
  ended: z.boolean().exactOptional(),
  purpose: z
    .object({
      command: z.string().max(100),
      /** Undefined: every account. */
      account: z.string().max(1000).optional(),
      pipelines: z.array(z.string().max(1000)).max(1000).readonly(),
      /** Of a copy: the lake that it reads, as an absolute path or a URL. */
      source: z.string().max(4000).exactOptional(),
    })
    .exactOptional(),
});

/** The lease of an active run on the lake. */
export type Lease = Readonly<z.infer<typeof leaseSchema>>;

/** The purpose of a run, for `status` and for other runs. */
export type RunPurpose = NonNullable<Lease['purpose']>;

/** What a run is leased of: a lake, and the name of the run. */
export interface LeasedLake {
  readonly store: Store;
  /** The name of the run, which its files have too. */
  readonly run: string;
}

/** This run's lease: as long as it lives, other runs don't fence this one, nor delete its files. */
export interface RunLease {
  /** The name of the run. */
  readonly id: string;
  readonly startedAt: number;
  /** The runs that were active when it began. */
  readonly others: readonly Lease[];
  /** Marks that this run has left nothing to clean up. */
  cleared(): void;
  /** Ends the lease. Without `cleared` an ended lease stays, so that the next vacuum searches the whole lake. */
  release(): Promise<void>;
}

/** The path of a lease within the lake. */
export function leasePath(id: string): string {
  return `${folder}/${id}.json`;
}

/**
 * Acquires an exclusive lease for this run, until it is released.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written, LAKE_CONFLICT where another run is active on it
 */
export function acquireExclusiveLease(lake: LeasedLake, clock: Clock, purpose?: RunPurpose): Promise<RunLease> {
  return acquireLease(lake, clock, purpose, true);
}

/**
 * Acquires a lease for this run, until it is released. Must be called before the run writes its first file.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written; LAKE_CONFLICT where an exclusive run is active on it
 */
export async function acquireLease(
  { store, run: id }: LeasedLake,
  clock: Clock,
  purpose?: RunPurpose,
  alone = false,
): Promise<RunLease> {
  const path = leasePath(id);
  const startedAt = clock.now();
  const { host: machine, pid, start } = await thisWriter();
  let state: Pick<Lease, 'alone' | 'ended'> = alone ? { alone } : {};
  let isClear = false;
  const renew = () => {
    const times = { startedAt, renewedAt: clock.now() };
    const lease: Lease = { host: hostname(), machine, pid, start, ...times, ...state, ...(purpose && { purpose }) };
    return store.write(path, Buffer.from(JSON.stringify(lease)));
  };
  await renew();
  // Other leases are read after this one is written: of two concurrent runs each sees the other, so that never both
  // continue.
  const { living: others } = await otherLeases(store, id, clock).catch(async (error: unknown) => {
    await store.remove(path).catch(() => undefined);
    throw error;
  });
  const blocking = others.find((other) => alone || other.alone === true);
  if (blocking !== undefined) {
    await store.remove(path);
    throw conflict(store, blocking);
  }
  const ended = new AbortController();
  const renewals = renewUntil(ended.signal, clock, renew);
  return {
    id,
    startedAt,
    others,
    cleared: () => {
      isClear = true;
    },
    release: async () => {
      ended.abort();
      await renewals;
      state = { ended: true };
      await (isClear ? store.remove(path) : renew());
    },
  };
}

/** The text of a lease, for people: `backfill of shop, process 12 on host, since 2025-01-01T00:00:00.000Z`. */
export function leaseText({ host, pid, startedAt, purpose }: Lease): string {
  const account = purpose?.account === undefined ? '' : ` of ${purpose.account}`;
  const what = purpose === undefined ? '' : `${purpose.command}${account}, `;
  return `${what}process ${pid} on ${host}, since ${isoInstant(startedAt)}`;
}

/** Reports other active runs on the lake, except those of other accounts. */
export function emitOtherRuns({ others }: RunLease, account: string | undefined, emit: Emit): void {
  for (const other of others) {
    const otherAccount = other.purpose?.account;
    // Workers load many accounts into one lake at once.
    if (otherAccount !== undefined && account !== undefined && otherAccount !== account) continue;
    const message = `another run is active on the lake (${leaseText(other)}); both continue, and what both load counts once`;
    emit({ event: 'message', message });
  }
}

/** The lease of a dead run as text, and what becomes of what it has left. */
export function diedText(lease: Lease): string {
  const rest =
    forgottenBy(lease) === undefined && lease.purpose?.source === undefined
      ? 'what it committed stays, and the next successful run removes the rest'
      : 'the same command again completes it';
  return `${leaseText(lease)}; ${rest}`;
}

/** The account that a run was forgetting; undefined for another run. */
export function forgottenBy(lease: Lease | undefined): string | undefined {
  return lease?.purpose?.command === 'forget' ? lease.purpose.account : undefined;
}

function conflict(store: Store, lease: Lease): LedgerlakeError {
  const found =
    lease.alone === true
      ? `expected ${store.location} to be free, got a run that needs exclusive access`
      : `expected no other run on ${store.location}, got one`;
  return new LedgerlakeError('LAKE_CONFLICT', `${found} (${leaseText(lease)}); run again when it has ended`);
}

async function renewUntil(signal: AbortSignal, clock: Clock, renew: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    // A lease survives nine missed renewals, so that a temporary failure of the store doesn't stop the run.
    await clock
      .sleep(renewalMs, signal)
      .then(renew, () => undefined)
      .catch(() => undefined);
  }
}

export interface LakeRuns {
  readonly active: readonly Lease[];
  readonly died: readonly Lease[];
}

export async function readRuns(store: Store, clock: Clock): Promise<LakeRuns> {
  const { living, dead } = await otherLeases(store, undefined, clock);
  const expired = dead.flatMap(({ lease }) => lease ?? []);
  // An ended run is no dead one.
  return { active: living, died: expired.filter(({ ended }) => ended !== true) };
}

/** A lease whose run is no longer active and may have left files. */
export interface ExpiredLease {
  /** Within the lake. */
  readonly path: string;
  /** Undefined where it can't be read. */
  readonly lease: Lease | undefined;
}

interface OtherLeases {
  readonly living: readonly Lease[];
  /** The names of the runs that live. */
  readonly livingRuns: ReadonlySet<string>;
  readonly dead: readonly ExpiredLease[];
}

/** The leases of other runs, active and dead. */
export async function otherLeases(store: Store, excludedId: string | undefined, clock: Clock): Promise<OtherLeases> {
  const living: Lease[] = [];
  const livingRuns = new Set<string>();
  const dead: ExpiredLease[] = [];
  for await (const { path } of store.list(folder)) {
    if (excludedId !== undefined && path === leasePath(excludedId)) continue;
    const bytes = await store.read(path);
    // The lease was released meanwhile.
    if (bytes === undefined) continue;
    // An invalid lease isn't of an active run, because leases are written atomically.
    const lease = parseNote(bytes, (value) => leaseSchema.parse(value));
    if (lease !== undefined && (await isAlive(lease, clock.now()))) {
      living.push(lease);
      livingRuns.add(path.slice(folder.length + 1, -'.json'.length));
    } else dead.push({ path, lease });
  }
  return { living, livingRuns, dead };
}

/** The commands that copy a lake. */
export const copyCommands = ['backup', 'restore'] as const;

/** A copy into a place that has not ended. */
interface UnfinishedCopy {
  readonly command: (typeof copyCommands)[number];
  /** What it reads. */
  readonly source: string;
}

/**
 * The copy of which a place without a catalog has a part: the lease of a copy is written first. That of a backup at the lake that it
 * reads names no source.
 */
export async function unfinishedCopy(store: Store, clock: Clock): Promise<UnfinishedCopy | undefined> {
  const { living, dead } = await otherLeases(store, undefined, clock);
  const leases = [...living, ...dead.flatMap(({ lease }) => lease ?? [])];
  const [copy] = leases.flatMap(({ purpose: { command: running, source } = {} }) =>
    source === undefined ? [] : copyCommands.flatMap((command) => (command === running ? [{ command, source }] : [])),
  );
  return copy;
}

/** The error for a place that has an unfinished copy. */
export function copyUnfinished({ location }: Store, { command, source }: UnfinishedCopy): LedgerlakeError {
  const [argument, lake] = command === 'backup' ? [location, source] : [source, location];
  const again = `ledgerlake ${command} ${shellWord(argument)} --lake ${shellWord(lake)}`;
  return new LedgerlakeError(
    'LAKE_LOG',
    `expected a lake at ${location}, got a ${command} of ${source} that has not ended; \`${again}\` continues it`,
  );
}

async function isAlive({ machine, pid, start, renewedAt, ended }: Lease, now: number): Promise<boolean> {
  if (ended === true || now - renewedAt > deadAfterMs || renewedAt - now > mostAheadMs) return false;
  const { host } = await thisWriter();
  return machine !== host || isRunning({ host, pid, start });
}
