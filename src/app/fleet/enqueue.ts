import { unknownName } from '../../core/text/fault-line.js';
import { openFleet, type Fleet, type FleetAddress } from './fleet.js';
import { nightlyPattern, type Night } from './nightly.js';
import type { QueuedAccount } from './turn-queue.js';
import { formatCount } from '../../core/text/amounts.js';
import { chunksOf, writeRows } from '../../core/text/formats.js';
import type { ResultColumn } from '../../core/text/rows.js';
import type { ReadingContext } from '../context.js';
import { isoInstant } from '../../core/numeric/instant.js';

interface EnqueueOptions extends FleetAddress {
  readonly action: 'all' | 'backfill' | 'sync' | 'nightly' | 'status' | 'retry';
  /** The accounts; empty: all. */
  readonly named: readonly string[];
  /** The configured accounts. */
  readonly accounts: readonly string[];
  /** ISO 8601, as the user wrote it. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Undefined: no nightly syncs. */
  readonly night: Night | undefined;
  readonly format: 'table' | 'json';
}

/**
 * `ledgerlake enqueue`: adds jobs of accounts, schedules their nightly syncs, or prints the state of the fleet. Returns false where
 * the state has dead letters or lost nightly syncs.
 *
 * @throws LedgerlakeError USAGE for accounts that aren't configured, or as `openFleet`
 */
export async function enqueue(options: EnqueueOptions, context: ReadingContext): Promise<boolean> {
  const { action, named, accounts, from = null, to = null, night } = options;
  const { clock, emit } = context;
  if (action !== 'retry' && action !== 'status') refuseUnknown(named, accounts);
  const chosen = named.length === 0 ? accounts : [...new Set(named)];
  const fleet = await openFleet(options, context.emit);
  try {
    if (action === 'status') return await writeStatus(fleet, options, context);
    if (action === 'retry') {
      await retry(fleet, named, context);
      return true;
    }
    if (action !== 'nightly') {
      const job = action === 'sync' ? ({ work: 'sync' } as const) : ({ work: 'backfill', from, to } as const);
      for (const account of chosen) await fleet.enqueue(account, job, clock.now());
      emit({ event: 'message', message: `added a ${job.work} of ${formatCount(chosen.length, 'account')}` });
    }
    if (action === 'all' || action === 'nightly') {
      for (const account of chosen) {
        await fleet.queue.setNight(account, night === undefined ? undefined : nightlyPattern(account, night));
      }
      const removedAccounts = [...(await fleet.queue.nights()).keys()].filter((account) => !accounts.includes(account));
      for (const account of removedAccounts) await fleet.queue.setNight(account, undefined);
      const set = night === undefined ? 'no nightly sync for' : 'a nightly sync for';
      const removed = removedAccounts.length === 0 ? '' : `, and no longer for ${removedAccounts.join(', ')}`;
      emit({ event: 'message', message: `${set} ${formatCount(chosen.length, 'account')}${removed}` });
    }
    return true;
  } finally {
    await fleet.close();
  }
}

async function retry(fleet: Fleet, named: readonly string[], { clock, emit }: ReadingContext): Promise<void> {
  const dead = (await fleet.queue.accounts(clock.now()))
    .filter(({ state }) => state === 'dead')
    .map(({ account }) => account);
  refuseUnknown(named, dead, 'among the dead letters');
  const chosen = named.length === 0 ? dead : [...new Set(named)];
  for (const account of chosen) {
    const [first] = await fleet.jobs.of(account);
    await fleet.queue.wake(account, first?.job.work ?? 'sync', clock.now());
  }
  emit({ event: 'message', message: `added another turn for ${formatCount(chosen.length, 'account')}` });
}

const columns: readonly ResultColumn[] = [
  { name: 'account', kind: 'text' },
  { name: 'state', kind: 'text' },
  { name: 'asked', kind: 'text' },
  { name: 'served_seconds', kind: 'number' },
  { name: 'failures', kind: 'number' },
  { name: 'at', kind: 'time' },
  { name: 'next_sync', kind: 'time' },
  { name: 'progress', kind: 'json' },
  { name: 'reason', kind: 'text' },
];

/** Prints the accounts in the queue, and those that are idle until their nightly sync. */
async function writeStatus(
  fleet: Fleet,
  { named, format }: EnqueueOptions,
  { clock, output, emit }: ReadingContext,
): Promise<boolean> {
  const queued = await fleet.queue.accounts(clock.now());
  const nights = await fleet.queue.nights();
  const inQueue = new Set(queued.map(({ account }) => account));
  const resting = [...nights.keys()].filter((account) => !inQueue.has(account));
  const lostNight = (account: string): string | null =>
    nights.has(account) && nights.get(account) === undefined
      ? `its nightly sync is lost; \`ledgerlake enqueue nightly ${account}\` schedules it again`
      : null;
  const isSelected = (account: string): boolean => named.length === 0 || named.includes(account);
  const rows: (string | number | null)[][] = [];
  for (const entry of queued) {
    if (!isSelected(entry.account)) continue;
    const jobs = await fleet.jobs.of(entry.account);
    const asked = jobs.map(({ job }) => job.work).join(', ');
    rows.push(rowOf({ ...entry, reason: entry.reason ?? lostNight(entry.account) }, asked, nights.get(entry.account)));
  }
  for (const account of resting.filter(isSelected)) {
    rows.push([account, 'resting', null, 0, 0, null, isoOrNull(nights.get(account)), null, lostNight(account)]);
  }
  await writeRows(output, format, columns, chunksOf(rows));
  const count = (state: string): number => rows.filter((row) => row[1] === state).length;
  const dead = count('dead');
  const lost = [...nights.keys()].filter((account) => isSelected(account) && lostNight(account) !== null).length;
  emit({
    event: 'message',
    message:
      `${count('waiting')} waiting, ${count('active')} active, ${count('delayed')} waiting for a retry, ` +
      `${count('resting')} idle, ${formatCount(dead, 'dead letter')}` +
      (lost === 0 ? '' : `, ${formatCount(lost, 'nightly sync')} lost`),
  });
  return dead === 0 && lost === 0;
}

function rowOf(queued: QueuedAccount, jobs: string, night: number | undefined): (string | number | null)[] {
  const { account, state, standing, at, progress, reason } = queued;
  const progressJson = state === 'active' && typeof progress === 'object' ? JSON.stringify(progress) : null;
  const served = Math.round(standing.servedMs / 1000);
  return [account, state, jobs, served, standing.failures, isoOrNull(at), isoOrNull(night), progressJson, reason];
}

function isoOrNull(ms: number | null | undefined): string | null {
  // Redis may have any number.
  return ms === null || ms === undefined || !(Math.abs(ms) <= 8.64e15) ? null : isoInstant(ms);
}

function refuseUnknown(named: readonly string[], known: readonly string[], qualifier = 'that is configured'): void {
  for (const name of named) {
    if (!known.includes(name)) throw unknownName(`an account ${qualifier}`, name, known);
  }
}
