import type { Emit } from '../../core/events/run-event.js';
import { Mutex } from '../../core/mutex.js';
import { emitDamage } from '../../app/context.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { tables as allTables } from '../../sources/finances/lake-tables.js';
import { existingLake, refuseWithoutFolder } from '../../lake/existing-lake.js';
import { Lake } from '../../lake/lake.js';
import { openStore } from '../../lake/store/open-store.js';
import { cacheOf, type QuerySettings } from '../../app/configuration/settings.js';
import { readAccountName, refuseUnknownAccount } from '../../app/configuration/account.js';
import { openLakeBackend } from '../../serve/served-apis.js';
import { MainTables } from '../../serve/lake/committed-files.js';
import type { Health } from '../../serve/http/side-pages.js';

/** Largest age of a report without new commits: it states the age of the lake. */
const reportLifeMs = 3_600_000;

/** What is served of a lake, with the cache of its files and the time zone of its report. */
export interface ServedLake extends Pick<QuerySettings, 'cache' | 'cacheGigabytes' | 'timeZone'> {
  readonly lake: string;
  /** Undefined: the lake's only account. */
  readonly account?: string | undefined;
}

/**
 * Opens a lake as a backend of one account's events; `emit` receives warnings. Its health and its report are those of the newest version.
 * Throws a USAGE error for a lake without events, for one with several accounts where none is chosen, and for an account that it
 * doesn't have; LAKE_STORE, LAKE_LOG where the lake can't be read.
 */
export async function openServedLake(question: ServedLake, clock: Clock, emit: Emit) {
  const { lake: location, account } = question;
  if (account !== undefined) readAccountName(account);
  await refuseWithoutFolder(location);
  const tables = await MainTables.open(openStore(location, { clock }), clock);
  emitDamage(tables.lake, emit);
  const accounts = tables.lake.snapshot.accounts();
  // A location without a lake has a more precise error.
  if (accounts.size === 0) await existingLake({ lake: location }, allTables, { clock });
  const served = servedAccount(location, account, accounts);
  const checkHealth = async (): Promise<Health> => {
    await tables.refresh();
    return { serves: 'lake', account: served, tables: tables.versions() };
  };
  const backend = await openLakeBackend(tables, served, cacheOf(question));
  const report = reportCache({ ...question, account: served }, clock, tables);
  return { backend, account: served, checkHealth, report, explainFault: faultExplainer(location, clock) };
}

/** Explains each SQL error once per message, as clients retry and the search for a damaged file may read all files. */
function faultExplainer(location: string, clock: Clock): (error: unknown) => Promise<unknown> {
  let explained: { readonly message: string; readonly fault: Promise<unknown> } | undefined;
  const explain = async (error: unknown): Promise<unknown> => {
    const lake = await Lake.open(openStore(location, { clock }), allTables, clock);
    const { fileFault } = await import('../../app/query/file-fault.js');
    return fileFault(error, lake, { lake: location });
  };
  return (error) => {
    if (!(error instanceof LedgerlakeError) || error.code !== 'SQL') return Promise.resolve(error);
    const { message } = error;
    if (explained?.message === message) return explained.fault;
    const fault = explain(error);
    explained = { message, fault };
    // A lake that couldn't be read for it may be read the next time.
    fault.catch(() => (explained = undefined));
    return fault;
  };
}

/** Creates reports one at a time, and each version once, so that repeated page loads don't use up the machine. */
function reportCache(
  { lake: location, account, cache, cacheGigabytes, timeZone }: ServedLake,
  clock: Clock,
  tables: MainTables,
): () => Promise<string> {
  let lake: Lake | undefined;
  let cached: { readonly state: string; readonly html: string } | undefined;
  const mutex = new Mutex();
  const currentReport = async (): Promise<string> => {
    // It throws for a missing log, which would make the report empty.
    await tables.refresh();
    if (lake === undefined) lake = await Lake.open(openStore(location, { clock }), allTables, clock);
    else await lake.refresh();
    const state = [lake.snapshot.version, Math.floor(clock.now() / reportLifeMs)].join();
    if (cached?.state !== state) {
      const { lakeReport } = await import('../../app/report/report.js');
      const settings = { cache, cacheGigabytes, timeZone };
      cached = { state, html: (await lakeReport({ ...settings, lake, location, account, clock })).html };
    }
    return cached.html;
  };
  return () => mutex.run(currentReport);
}

function servedAccount(location: string, account: string | undefined, accounts: ReadonlySet<string>): string {
  refuseUnknownAccount(account, accounts, location);
  const chosen = [...accounts].filter((name) => name === (account ?? name)).toSorted();
  const [served, ...others] = chosen;
  if (served === undefined) {
    throw usageError(`expected a lake with events in ${location}, got none; \`ledgerlake backfill\` loads them`);
  }
  if (others.length === 0) return served;
  throw usageError(`expected --account to name the account to serve, got none; ${location} has ${chosen.join(', ')}`);
}
