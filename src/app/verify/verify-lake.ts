import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { openDatabase } from '../../core/duckdb/connection.js';
import { codeOf, messageOf } from '../../core/errors.js';
import { plainLog } from '../../observe/log/plain-log.js';
import type { Lake } from '../../lake/lake.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { readRuns } from '../../lake/upkeep/leases.js';
import { checkCatalog, type ExpectedVersion } from './checks/catalog-chain.js';
import { Certificate, type CheckContext } from './checks/certificate.js';
import { checkEvents } from './checks/event-entries.js';
import { checkContents, checkNetSums, type ReadableFile } from './checks/file-contents.js';
import { IndexTables } from './checks/index-tables.js';
import { checkWindows } from './checks/loaded-windows.js';
import { checkedBundles, logFiles, type CheckedBundle, type LogFile } from './checks/log-files.js';
import { byGroup, byTransaction, listing, pipelineTable, summaries as summaryTable } from './checks/main-tables.js';
import { checkPaid, summariesFrom, type SettlementSummary } from './checks/paid-settlements.js';
import {
  checkTotals,
  compareByGroup,
  forgottenIn,
  loadedSettlements,
  settlementsFrom,
  wholeSettlements,
  type Settlement,
} from './checks/settlements.js';
import { checkRecords } from './checks/raw-columns.js';
import { checkRequestedRanges, readUnfinished, type UnfinishedRange } from './checks/unfinished-ranges.js';
import { checkBytes, checkUnreferenced, type LocalFile } from './checks/stored-files.js';

export interface VerifyLakeOptions {
  readonly lake: Lake;
  /** Undefined: every account. */
  readonly account: string | undefined;
  /** A version that the catalog must have. */
  readonly expected?: ExpectedVersion | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/** Memory of each DuckDB instance; it spills the rest to temporary files. */
const memoryLimit = '1GB';
/** Time between two lines of progress. */
const progressMs = 5000;

/**
 * Proves a lake: reads every file that the log names, once, bundle by bundle, and compares across files by the few
 * columns that it keeps. Writes nothing to the lake. Problems are in the certificate; a file that doesn't match the log
 * is not read any further, as its content would say nothing about the lake.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read, STOPPED when the signal aborts
 */
export async function verifyLake(options: VerifyLakeOptions): Promise<Certificate> {
  const { lake, account, expected, clock, signal, log } = options;
  const certificate = new Certificate();
  const runs = await readRuns(lake.store, clock);
  const isRunning = runs.active.length > 0;
  const { files, obscure } = logFiles(lake, account, certificate);
  const accounts = account === undefined ? [...lake.accounts()] : [account];
  await checkCatalog(lake, runs, expected, certificate);
  checkWindows(lake, accounts, files, certificate);
  const unfinished = await readUnfinished(lake, plainLog(log));
  const isChecked = (range: UnfinishedRange) => account === undefined || range.account === account;
  checkRequestedRanges(lake, unfinished.filter(isChecked), isRunning, certificate);
  const bundles = checkedBundles(files, certificate);
  await checkUnreferenced(account, isRunning, { lake, certificate });

  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-verify-'));
  const confined = {
    folders: [lake.store.localPath('') ?? folder, folder],
    settings: { memory_limit: memoryLimit },
    signal,
  };
  const events = await openDatabase(confined);
  const entries = await openDatabase(confined);
  const context = { lake, certificate, events, entries, signal };
  try {
    const index = await IndexTables.create(context);
    const progress = progressLog(files.length, options);
    const { settlements, summaries, damaged } = await checkBundles(bundles, folder, index, context, progress);
    certificate.noteUnsummed();
    await index.check();
    const comparable = { lake, settlements, damaged, obscure };
    const forgotten = await forgottenIn(lake, accounts, index, context);
    const loaded = wholeSettlements(loadedSettlements(comparable), forgotten, context);
    await checkTotals(loaded, context);
    await compareByGroup(loaded, comparable, index, context);
    await checkPaid({ ...comparable, forgotten }, summaries, accounts, context);
    return certificate;
  } finally {
    events.close();
    entries.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Logs the number of files that are read, at intervals. */
function progressLog(total: number, { clock, log }: VerifyLakeOptions): (done: number) => void {
  let reportedAt = clock.now();
  return (done) => {
    if (clock.now() - reportedAt < progressMs) return;
    reportedAt = clock.now();
    log(`verify: ${done} of ${total} files read`);
  };
}

/** Reads all bundles, and collects what is compared across them. */
async function checkBundles(
  bundles: readonly CheckedBundle[],
  folder: string,
  index: IndexTables,
  context: CheckContext,
  progress: (done: number) => void,
): Promise<Omit<BundleContents, 'isWhole'> & { readonly damaged: readonly LogFile[] }> {
  const settlements: Settlement[] = [];
  const summaries: SettlementSummary[] = [];
  const damaged: LogFile[] = [];
  let done = 0;
  for (const bundle of bundles) {
    context.signal.throwIfAborted();
    const read = await checkBundle(bundle, folder, index, context);
    settlements.push(...read.settlements);
    summaries.push(...read.summaries);
    if (!read.isWhole) damaged.push(bundle.main);
    done += 1 + bundle.derived.length;
    progress(done);
  }
  return { settlements, summaries, damaged };
}

/** The contents of a bundle that are compared across bundles. */
interface BundleContents {
  /** Whether the rows can be compared with others. */
  readonly isWhole: boolean;
  readonly settlements: readonly Settlement[];
  readonly summaries: readonly SettlementSummary[];
}

/**
 * Reads the files of a bundle, and adds to `index` what is compared across files. The rows of a bundle that isn't whole
 * can't be compared with others.
 */
async function checkBundle(
  bundle: CheckedBundle,
  folder: string,
  index: IndexTables,
  context: CheckContext,
): Promise<BundleContents> {
  const { certificate, events } = context;
  const local: LocalFile[] = [];
  /** The files that match the log and that DuckDB can read. */
  const readableOf = async (files: readonly LogFile[]): Promise<ReadableFile[]> => {
    const readable: ReadableFile[] = [];
    for (const file of files) {
      const found = await checkBytes(file, folder, context);
      if (found === undefined) continue;
      local.push(found);
      certificate.count('parquet');
      const one = { file, path: found.path };
      if (await isReadable(file, certificate, () => checkContents(one, context))) readable.push(one);
    }
    return readable;
  };
  try {
    const mains = await readableOf([bundle.main]);
    const derived = await readableOf(bundle.derived);
    const isWhole = mains.length + derived.length === 1 + bundle.derived.length;
    const settlements: Settlement[] = [];
    const summaries: SettlementSummary[] = [];
    for (const readable of [...mains, ...derived]) {
      const { file, path } = readable;
      await isReadable(file, certificate, async () => {
        if (file.table === byGroup.entries) await index.addNets(readable);
        else if (file.table === listing.table) {
          settlements.push(...(await settlementsFrom(rowsIn([path]), file, events)));
        } else if (file.table === summaryTable.table) summaries.push(...(await summariesFrom(readable, context)));
        else if (hasEntries(file)) await index.addEvents(readable, isWhole ? derived : []);
        if (file.table === byTransaction.table) await index.addPaid(readable);
        await checkRecords(readable, context);
      });
    }
    if (isWhole && hasEntries(bundle.main)) {
      await isReadable(bundle.main, certificate, () => checkEvents(mains, derived, context));
      await isReadable(bundle.main, certificate, () => checkNetSums(derived, context));
    }
    return { isWhole, settlements, summaries };
  } finally {
    for (const file of local) await file.release();
  }
}

function hasEntries({ delta }: LogFile): boolean {
  return pipelineTable(delta.schema)?.entries !== undefined;
}

/** Runs a check. Where DuckDB can't read the file, adds that as a problem of the file, and returns false. */
async function isReadable(file: LogFile, certificate: Certificate, check: () => Promise<void>): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (error) {
    if (codeOf(error) !== 'SQL') throw error;
    const [line = ''] = messageOf(error).split('\n');
    certificate.add('parquet', 'lake', file, `the file can't be read as ${file.table}: ${line}`);
    return false;
  }
}
