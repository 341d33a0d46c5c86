import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import { parseNote, type Store } from '../store/store.js';
import { isAlive as isRunning, thisWriter } from '../store/writer-name.js';
import { isoInstant } from '../../core/numeric/instant.js';
import { dayMs } from '../../core/windows.js';

const folder = '_runs';

/** A run renews its lease this often … */
const renewalMs = 60_000;
/** … and one on another host that hasn't for this long is taken for dead. */
const deadAfterMs = 10 * 60_000;
/** … and so is one whose clock is further ahead than any that runs: it would live for ever. */
const mostAheadMs = dayMs;

/** What a run does, for `status` and for other runs. */
export interface RunPurpose {
  readonly command: string;
  /** Undefined: every account. */
  readonly account?: string | undefined;
  readonly pipelines: readonly string[];
}

/** Says that a run is at work on the lake, and since when. */
export interface Lease {
  readonly host: string;
  /** The machine since its last start, or the container on it: within it a pid means one process at a time. */
  readonly machine: string;
  readonly pid: number;
  /** When the process started, as the system counts it. */
  readonly start: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly renewedAt: number;
  /** Set where no other run may work on the lake meanwhile. */
  readonly alone?: boolean;
  /** Set where the run writes no files any more and only clears up. */
  readonly clearing?: boolean;
  /** Set where the run has ended before it had cleared up: what it left waits for a vacuum. */
  readonly ended?: boolean;
  readonly purpose?: RunPurpose;
}

/** This run's lease: other runs leave alone what was written since it began. */
export interface RunLease {
  readonly id: string;
  readonly startedAt: number;
  /** The runs that were at work when it began. */
  readonly others: readonly Lease[];
  /** Says that this run writes no files any more: what is left then is nobody's, also where two clear up at once. */
  clearUp(): Promise<void>;
  /** Notes that nothing is left of this run. */
  cleared(): void;
  /** Ends the lease. Unless all was cleared, word stays of that: only then need the next vacuum look everywhere. */
  release(): Promise<void>;
}

/** The path of a lease within the lake. */
export function leasePath(id: string): string {
  return `${folder}/${id}.json`;
}

/**
 * Says that this run works on the lake, until it is released.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written: known before the first request is sent;
 * LAKE_CONFLICT where a run works on it that must be alone
 */
export async function acquireLease(store: Store, clock: Clock, purpose?: RunPurpose): Promise<RunLease> {
  return acquire(store, clock, { alone: false, purpose });
}

/**
 * Says that this run works on the lake and that no other may, until it is released.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written, LAKE_CONFLICT where another run is at work on it
 */
export async function acquireExclusiveLease(store: Store, clock: Clock, purpose?: RunPurpose): Promise<RunLease> {
  return acquire(store, clock, { alone: true, purpose });
}

async function acquire(
  store: Store,
  clock: Clock,
  { alone, purpose }: { readonly alone: boolean; readonly purpose?: RunPurpose | undefined },
): Promise<RunLease> {
  const id = randomUUID();
  const path = leasePath(id);
  const startedAt = clock.now();
  const { host: machine, pid, start } = await thisWriter();
  let state: Pick<Lease, 'alone' | 'clearing' | 'ended'> = alone ? { alone } : {};
  let isClear = false;
  const renew = () => {
    const times = { startedAt, renewedAt: clock.now() };
    const lease: Lease = { host: hostname(), machine, pid, start, ...times, ...state, ...(purpose && { purpose }) };
    return store.write(path, Buffer.from(JSON.stringify(lease)));
  };
  await renew();
  // Only now: of two that come at once each sees the other, so that never both go on.
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
    clearUp: () => {
      state = { ...state, clearing: true };
      return renew();
    },
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

/** What a lease says, for people: `backfill of shop, process 12 on host, since 2025-01-01T00:00:00.000Z`. */
export function leaseText({ host, pid, startedAt, purpose }: Lease): string {
  const whose = purpose?.account === undefined ? '' : ` of ${purpose.account}`;
  const what = purpose === undefined ? '' : `${purpose.command}${whose}, `;
  return `${what}process ${pid} on ${host}, since ${isoInstant(startedAt)}`;
}

function conflict(store: Store, lease: Lease): LedgerlakeError {
  const { alone } = lease;
  return new LedgerlakeError(
    'LAKE_CONFLICT',
    alone === true
      ? `expected ${store.location} to be free, got a run that needs exclusive access (${leaseText(lease)}); run again when it has ended`
      : `expected no other run on ${store.location}, got one (${leaseText(lease)}); run again when it has ended`,
  );
}

async function renewUntil(signal: AbortSignal, clock: Clock, renew: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    // The lease outlives a missed renewal or nine, so a store that fails for a moment is no reason to stop.
    await clock
      .sleep(renewalMs, signal)
      .then(renew, () => undefined)
      .catch(() => undefined);
  }
}

/** The runs that are at work on a lake, and those that died. */
export interface LakeRuns {
  readonly active: readonly Lease[];
  readonly died: readonly Lease[];
}

export async function readRuns(store: Store, clock: Clock): Promise<LakeRuns> {
  const { living, dead } = await otherLeases(store, undefined, clock);
  const expired = dead.flatMap(({ lease }) => lease ?? []);
  // One that has ended left word of that.
  return { active: living, died: expired.filter(({ ended }) => ended !== true) };
}

/** A lease whose run is at work no longer and may have left something. */
export interface ExpiredLease {
  /** Within the lake. */
  readonly path: string;
  /** What the run wrote it wrote before this; Infinity where the lease can't be read. */
  readonly wroteBefore: number;
  /** Undefined where it can't be read. */
  readonly lease: Lease | undefined;
}

/** The other runs that are at work on the lake, and those that were and have left their lease. */
export async function otherLeases(
  store: Store,
  excludedId: string | undefined,
  clock: Clock,
): Promise<{ readonly living: readonly Lease[]; readonly dead: readonly ExpiredLease[] }> {
  const living: Lease[] = [];
  const dead: ExpiredLease[] = [];
  let loaded: Awaited<ReturnType<typeof loadSchema>> | undefined;
  for await (const { path } of store.list(folder)) {
    if (excludedId !== undefined && path === leasePath(excludedId)) continue;
    const bytes = await store.read(path);
    // Released meanwhile.
    if (bytes === undefined) continue;
    // One that can't be read nobody who lives has written: leases are written whole.
    const schema = (loaded ??= await loadSchema());
    const lease = parseNote(bytes, (value): Lease => schema.parse(value));
    if (lease !== undefined && (await isAlive(lease, clock.now()))) living.push(lease);
    else {
      dead.push({ path, wroteBefore: lease === undefined ? Infinity : lease.renewedAt + deadAfterMs, lease });
    }
  }
  return { living, dead };
}

/** Loads zod, which takes longer than all else that a run needs: most find no lease. */
async function loadSchema() {
  const { z } = await import('zod');
  const instant = z.number().min(0).max(8.64e15);
  return z.object({
    host: z.string().max(1000),
    machine: z.string().max(1000),
    pid: z.int().min(0),
    start: z.string().max(1000),
    startedAt: instant,
    renewedAt: instant,
    alone: z.boolean().exactOptional(),
    clearing: z.boolean().exactOptional(),
    ended: z.boolean().exactOptional(),
    purpose: z
      .object({
        command: z.string().max(100),
        account: z.string().max(1000).optional(),
        pipelines: z.array(z.string().max(1000)).max(1000),
      })
      .exactOptional(),
  });
}

async function isAlive({ machine, pid, start, renewedAt, ended }: Lease, now: number): Promise<boolean> {
  if (ended === true || now - renewedAt > deadAfterMs || renewedAt - now > mostAheadMs) return false;
  const { host } = await thisWriter();
  return machine !== host || isRunning({ host, pid, start });
}
