import { persistedQuota, type PersistedQuota } from '../../engine/page-journal/persisted-quota.js';
import { codeOf, LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import type { AccountJob } from './account-jobs.js';
import { openFleet, type Fleet, type FleetAddress } from './fleet.js';
import { runTurn, type TurnContext } from './run-turn.js';
import type { FleetKeys, RedisCommands } from './redis.js';
import { startQueueWorker } from './turn-queue.js';
import { openStore } from '../../lake/store/open-store.js';
import type { Store } from '../../lake/store/store.js';
import { plainLog } from '../../observe/log/plain-log.js';
import { backfill } from '../load/backfill.js';
import { CommandError, failedSummary, failureOf, type CommandResult } from '../command-result.js';
import { type RunContext, untilAborted } from '../context.js';
import type { RunSettings } from '../load/run-settings.js';
import { sync } from '../load/sync.js';
import type { RunSummary } from '../results.js';

interface WorkerOptions extends FleetAddress {
  /** Maximum number of concurrent turns. */
  readonly concurrency: number;
  /** How long a turn lasts while others wait. */
  readonly turnMs: number;
  /** How long active turns may take to end once the worker stops. */
  readonly graceMs: number;
  /** How long a worker without a sign of life keeps its accounts. */
  readonly lockMs: number;
  /** Shown in the queue. */
  readonly name: string;
  /** Reads the configured accounts. */
  readonly accounts: () => Promise<readonly string[]>;
  /** Reads the settings of an account. Throws LedgerlakeError USAGE for invalid settings. */
  readonly settingsOf: (account: string) => Promise<RunSettings>;
  /** Posts how a job of an account has ended, and the summary of its last turn, to the address of `notify`. Never throws. */
  readonly notify: (exitCode: number, run: object) => Promise<void>;
}

/** Interval of counting the queue. */
const countMs = 15_000;

/** Share of the grace period that is reserved for aborting turns and returning them to the queue. */
const breakOffShare = 0.2;

/**
 * `ledgerlake worker`: runs turns of a fleet's accounts, several at once, until the signal aborts. Then it takes no new turns; active
 * turns complete their slices, and are aborted when the grace period is over. Their accounts return to the queue.
 *
 * @throws LedgerlakeError as `openFleet`
 */
export async function runWorker(options: WorkerOptions, context: RunContext): Promise<void> {
  const { clock, signal, emit } = context;
  const { concurrency, lockMs, name, graceMs, turnMs, accounts } = options;
  const fleet = await openFleet(options, emit);
  const closing = new AbortController();
  const stop = new AbortController();
  let turns = 0;
  // An address that doesn't answer doesn't delay the next turn.
  const notifying = new Set<Promise<void>>();
  const notify = (exitCode: number, run: object): void => {
    const posted = options.notify(exitCode, run).finally(() => notifying.delete(posted));
    notifying.add(posted);
  };
  try {
    const settings = { turnMs, clock, random: Math.random, emit };
    const queueWorker = await startQueueWorker(fleet.redis, fleet.keys, {
      concurrency,
      lockMs,
      name,
      run: async (turn) => {
        turns++;
        let failure: unknown;
        let failed: object = { account: turn.account };
        try {
          const after = await runTurn(turn, fleet, {
            ...settings,
            secret: await options.settingsOf(turn.account).then(secretOf, () => ''),
            closing: closing.signal,
            stop: stop.signal,
            run: async (job, fenced, running) => {
              try {
                if (!(await accounts()).includes(turn.account)) throw removedFailure(turn.account);
                const settings = await options.settingsOf(turn.account);
                const { summary } = await runOnce(job, settings, { fleet, fenced, ...running, clock });
                notify(0, summary);
              } catch (error) {
                if (error instanceof CommandError) failed = error.summary;
                failure = failureOf(error);
                throw failure;
              }
            },
          });
          if (after.next === 'dead') {
            notify(1, failedSummary(failed, { code: codeOf(failure), message: after.reason }));
          }
          return after;
        } finally {
          turns--;
        }
      },
      rested: (account) => fleet.wakeMissing(account, clock.now()),
      due: async (account) => {
        // Anybody who can write to Redis can name any account there.
        if ((await accounts()).includes(account)) await fleet.enqueue(account, { work: 'sync' }, clock.now());
      },
      failed: (error) => {
        emit({ event: 'queue-failed', reason: messageOf(error) });
      },
    });
    emit({ event: 'worker-started', fleet: options.fleet, redis: options.redis.shown, concurrency });
    for (const account of await accounts()) if (!signal.aborted) await fleet.wakeMissing(account, clock.now());
    await countedUntilAborted(fleet, context);
    emit({ event: 'worker-draining', turns, graceSeconds: graceMs / 1000 });
    closing.abort(new LedgerlakeError('STOPPED', 'the worker is stopping'));
    const drained = new AbortController();
    const breakOff = clock.sleep(graceMs * (1 - breakOffShare), drained.signal).then(
      () => {
        stop.abort(new LedgerlakeError('STOPPED', 'the worker is stopping, and its time is up'));
      },
      () => undefined,
    );
    await queueWorker.drain();
    drained.abort();
    await breakOff;
    await Promise.all(notifying);
  } finally {
    await fleet.close();
  }
}

/** A text that every worker of the fleet knows, and nobody else where the account signs in. */
function secretOf({ account, endpoint, signIn }: RunSettings): string {
  return JSON.stringify([account, endpoint, signIn?.clientSecret.reveal(), signIn?.refreshToken?.reveal()]);
}

/** Emits the length of the queue at intervals. */
async function countedUntilAborted(fleet: Fleet, { clock, signal, emit }: RunContext): Promise<void> {
  const aborted = untilAborted(signal);
  while (!signal.aborted) {
    // The count waits for a lost Redis, which must not delay the end of the worker.
    const count = fleet.queue.counts().then(
      (counts) => {
        emit({ event: 'queue-counted', ...counts });
      },
      () => undefined,
    );
    await Promise.race([count, aborted]);
    await clock.sleep(countMs, signal).catch(() => undefined);
  }
}

function removedFailure(account: string): Error {
  return usageError(
    `expected the account ${account} in the configuration, got none; configure it again and run ` +
      `\`ledgerlake enqueue retry ${account}\`, what was loaded stays`,
  );
}

interface TurnRun extends TurnContext {
  readonly fleet: Fleet;
  /** Wraps the lake's store with the fence of the turn. */
  readonly fenced: (store: Store) => Store;
  readonly clock: RunContext['clock'];
}

/** Runs a job of an account. Warnings have the account. */
async function runOnce(
  job: AccountJob,
  settings: RunSettings,
  { fleet, fenced, clock, signal, closing, emit, sync: turns }: TurnRun,
): Promise<CommandResult<RunSummary>> {
  const { account } = settings;
  const warned = plainLog(
    (message) => {
      emit({ event: 'account-warned', account, message });
    },
    { least: 'warn' },
  );
  const options = {
    ...settings,
    store: fenced(openStore(settings.lake, { clock, emit: warned, encryption: settings.encryption })),
    quotas: (name: string) =>
      openSharedQuota(fleet.redis, fleet.keys, { account, name }, (reason) => {
        emit({
          event: 'account-warned',
          account,
          message: `the state of its quota is not saved: ${messageOf(reason)}`,
        });
      }),
    pipelines: [],
  };
  const context = {
    clock,
    signal,
    closing,
    emit: (event: Parameters<Emit>[0]) => {
      emit(event);
      warned(event);
    },
  };
  if (job.work === 'sync') return sync(options, context, turns);
  const range = { from: job.from ?? settings.from, to: job.to ?? undefined };
  return backfill({ ...options, ...range }, context);
}

/** Opens the levels of an account's quota in Redis, for the worker of its next turn. */
async function openSharedQuota(
  redis: RedisCommands,
  keys: FleetKeys,
  { account, name }: { readonly account: string; readonly name: string },
  warn: (reason: unknown) => void,
): Promise<PersistedQuota> {
  const key = keys.quota(account);
  const before: Record<string, number> = {};
  for (const [field, state] of Object.entries(await redis.hgetall(key))) {
    // A bucket corrects what is too far ahead.
    const known = Number(state);
    if (field.startsWith(`${name} `) && Number.isFinite(known)) before[field.slice(name.length + 1)] = known;
  }
  const save = async (states: Readonly<Record<string, number>>): Promise<void> => {
    const fields = new Map(Object.entries(states).map(([bucket, state]) => [`${name} ${bucket}`, String(state)]));
    await redis.hset(key, fields);
  };
  return persistedQuota(before, save, warn);
}
