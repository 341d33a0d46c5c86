import { z } from 'zod';
import { hostname } from 'node:os';
import type { Clock } from '../core/clock.js';
import type { Emit } from '../core/events/run-event.js';
import { LedgerlakeError } from '../core/errors.js';
import { parseNote, type Store } from './store/store.js';
import { isRunning, thisWriter } from './store/writer-name.js';
import { isoInstant } from '../core/numeric/instant.js';
import { dayMs } from '../core/windows.js';
import { shellWord } from '../core/text/shell-word.js';

const folder = '_runs';

/** Interval at which a run renews its lease. */
const renewalMs = 60_000;
/** A run on another machine that hasn't renewed its lease for this long counts as dead … */
const deadAfterMs = 10 * 60_000;
/** … and so does one whose lease is this far in the future, because of a wrong clock. */
const mostAheadMs = dayMs;

/** Milliseconds since 1970. */
const instant = z.number().min(0).max(8.64e15);
const leaseSchema = z.object({
  /** The host name, for people. */
  host: z.string().max(1000),
  /** The machine since its last boot, or the container on it: within it a pid identifies one process at a time. */
  machine: z.string().max(1000),
  pid: z.int().min(0),
  /** When the process started, in the system's unit. */
  start: z.string().max(1000),
  startedAt: instant,
  renewedAt: instant,
  /** Set where the lease is exclusive: no other run may be active on the lake. */
  alone: z.boolean().exactOptional(),
  /** Set where the run has released its lease and left files: it is dead, and a vacuum must look for them. */
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

/** This run's lease: as long as it is active, other runs don't fence it, nor delete its files. */
export interface RunLease {
  /** The name of the run. */
  readonly id: string;
  readonly startedAt: number;
  /** The runs that were active when it began. */
  readonly others: readonly Lease[];
  /** Marks that this run has left nothing to clean up. */
  cleared(): void;
  /** Ends the lease. Without `cleared` it stays as that of a dead run, so that the next vacuum searches the whole lake. */
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
  isExclusive = false,
): Promise<RunLease> {
  const path = leasePath(id);
  const startedAt = clock.now();
  const { machine, pid, start } = await thisWriter();
  let state: Pick<Lease, 'alone' | 'ended'> = isExclusive ? { alone: true } : {};
  let isClear = false;
  const renew = () => {
    const times = { startedAt, renewedAt: clock.now() };
    const lease: Lease = { host: hostname(), machine, pid, start, ...times, ...state, ...(purpose && { purpose }) };
    return store.write(path, Buffer.from(JSON.stringify(lease)));
  };
  await renew();
  // Other leases are read after this one is written: of two concurrent runs each sees the other, so that never both
  // continue.
  const { active: others } = await otherLeases(store, id, clock).catch(async (error: unknown) => {
    await store.remove(path).catch(() => undefined);
    throw error;
  });
  const blocking = others.find((other) => isExclusive || other.alone === true);
  if (blocking !== undefined) {
    await store.remove(path);
    throw conflict(store, blocking);
  }
  const released = new AbortController();
  const renewals = renewUntil(released.signal, clock, renew);
  return {
    id,
    startedAt,
    others,
    cleared: () => {
      isClear = true;
    },
    release: async () => {
      released.abort();
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
export function deadText(lease: Lease): string {
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
  /** Without those that have released their leases: their notes say how they ended. */
  readonly dead: readonly Lease[];
}

export async function readRuns(store: Store, clock: Clock): Promise<LakeRuns> {
  const { active, dead } = await otherLeases(store, undefined, clock);
  return { active, dead: dead.flatMap(({ lease }) => (lease === undefined || lease.ended === true ? [] : lease)) };
}

/** The lease of a dead run, which is no longer active and may have left files. */
export interface DeadLease {
  /** Within the lake. */
  readonly path: string;
  /** Undefined where it can't be read. */
  readonly lease: Lease | undefined;
}

interface OtherLeases {
  readonly active: readonly Lease[];
  /** The names of the active runs. */
  readonly activeRuns: ReadonlySet<string>;
  readonly dead: readonly DeadLease[];
}

/** The leases of other runs, active and dead. */
export async function otherLeases(store: Store, excludedId: string | undefined, clock: Clock): Promise<OtherLeases> {
  const active: Lease[] = [];
  const activeRuns = new Set<string>();
  const dead: DeadLease[] = [];
  for await (const { path } of store.list(folder)) {
    if (excludedId !== undefined && path === leasePath(excludedId)) continue;
    const bytes = await store.read(path);
    // The lease was released meanwhile.
    if (bytes === undefined) continue;
    // An invalid lease isn't of an active run, because leases are written atomically.
    const lease = parseNote(bytes, (value) => leaseSchema.parse(value));
    if (lease !== undefined && (await isActive(lease, clock.now()))) {
      active.push(lease);
      activeRuns.add(path.slice(folder.length + 1, -'.json'.length));
    } else dead.push({ path, lease });
  }
  return { active, activeRuns, dead };
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
  const { active, dead } = await otherLeases(store, undefined, clock);
  const leases = [...active, ...dead.flatMap(({ lease }) => lease ?? [])];
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

async function isActive({ renewedAt, ended, ...writer }: Lease, now: number): Promise<boolean> {
  if (ended === true || now - renewedAt > deadAfterMs || renewedAt - now > mostAheadMs) return false;
  const { machine } = await thisWriter();
  return writer.machine !== machine || isRunning(writer);
}
