import { hasEvents } from '../../core/columns/table.js';
import { settlementSummaries } from '../../sources/finances/api-2024-06-19/transaction-tables.js';
import { settlementReports } from '../../sources/finances/settlement-reports/report-tables.js';
import type { Emit } from '../../core/events/run-event.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { openDatabase, type Database } from '../../core/duckdb/connection.js';
import { codeOf, messageOf } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import type { Lake } from '../../lake/lake.js';
import { readRuns } from '../../lake/leases.js';
import { readUnfinished, type UnfinishedRange } from '../coverage/unfinished-ranges.js';
import { loadedSettlements, totalFault, type Settlement, type UnreadableFile } from '../settlements/settlements.js';
import type { CatalogVersion } from '../results.js';
import { CertificateBuilder, type CheckContext, type Comparison } from './common/check.js';
import { checkedBundles, checkedFiles, type CheckedBundle, type CheckedFile } from './common/checked-files.js';
import { checks } from './check-list.js';
import { parquetCheck } from './checks/parquet.js';
import { settlementKey, IndexTables } from './common/index-tables.js';
import { checkEvents } from './event-entries.js';

export interface VerifyLakeOptions {
  readonly lake: Lake;
  /** Undefined: every account. */
  readonly account: string | undefined;
  /** A version that the catalog must have. */
  readonly expected?: CatalogVersion | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly emit: Emit;
}

/** Memory of DuckDB; it spills the rest to temporary files. */
const memoryLimit = '1GB';
/** Time between two lines of progress. */
const progressMs = 5000;

/**
 * Proves a lake: reads every file that the catalog names, some bundles at a time, and compares across files by the few
 * columns that it keeps. Writes nothing to the lake. Problems are in the certificate; a file that doesn't match the catalog
 * is not read any further, as its content would say nothing about the lake.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read, STOPPED when the signal aborts
 */
export async function verifyLake(options: VerifyLakeOptions): Promise<CertificateBuilder> {
  const { lake, account, expected, clock, signal, emit } = options;
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-verify-'));
  let database: Database | undefined;
  try {
    const certificate = new CertificateBuilder(checks);
    const runs = await readRuns(lake.store, clock);
    const pathOf = (file: string) => lake.store.localPath(file) ?? join(folder, file);
    const { files, undescribed } = checkedFiles(lake, account, pathOf);
    const damaged: UnreadableFile[] = undescribed.map((file) => ({ ...file, loadKeys: undefined }));
    const accounts = account === undefined ? [...lake.snapshot.accounts()] : [account];
    const isChecked = (range: UnfinishedRange) => account === undefined || range.account === account;
    const unfinished = (await readUnfinished(lake, emit)).filter(isChecked);
    const catalog = { lake, account, accounts, files, undescribed, runs, unfinished, expected, certificate };
    for (const check of checks) await check.catalog?.(catalog);

    database = await openDatabase({
      folders: [lake.store.localPath('') ?? folder, folder],
      settings: { memory_limit: memoryLimit },
      signal,
    });
    const batches = [...batchesOf(checkedBundles(files))];
    const mains = batches.flat().map(({ main }) => main);
    const index = await IndexTables.create(database, mains);
    const context = { lake, database, certificate, index, damaged };
    tuneForComputation();
    await checkBatches(batches, context, signal, progressLog(files.length, options));
    const comparison = await comparisonOf(context, batches.flat(), accounts);
    for (const check of checks) await check.across?.(comparison);
    return certificate;
  } finally {
    database?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Logs the number of files that are read, at intervals. */
function progressLog(total: number, { clock, emit }: VerifyLakeOptions): (done: number) => void {
  let reportedAt = clock.now();
  return (done) => {
    if (clock.now() - reportedAt < progressMs) return;
    reportedAt = clock.now();
    emit({ event: 'message', message: `verify: ${done} of ${total} files read` });
  };
}

/** Batches that are checked at once: DuckDB reads one, or the store returns its files, while the events of another are walked. */
const batchesAtOnce = 2;
/** Bundles that are read together: each statement of DuckDB takes some milliseconds, however few the rows are. */
const batchBundles = 64;
/** Bytes of their files, compressed. */
const batchBytes = 3 * 1024 * 1024;

/** Bundles of one table and account, as many as are read together. */
function* batchesOf(bundles: readonly CheckedBundle[]): Generator<readonly CheckedBundle[]> {
  for (const alike of groupBy(bundles, ({ main }) => JSON.stringify([main.table, main.account])).values()) {
    let batch: CheckedBundle[] = [];
    let bytes = 0;
    for (const bundle of alike) {
      const size = [bundle.main, ...bundle.derived].reduce((sum, { dataFile }) => sum + dataFile.size, 0);
      if (batch.length === batchBundles || (batch.length > 0 && bytes + size > batchBytes)) {
        yield batch;
        batch = [];
        bytes = 0;
      }
      batch.push(bundle);
      bytes += size;
    }
    yield batch;
  }
}

/** Where files are read. */
interface ReadContext extends CheckContext {
  /** Keeps what is compared at the end. */
  readonly index: IndexTables;
  /** Files whose rows can't be compared with others. */
  readonly damaged: UnreadableFile[];
}

/** Reads all bundles, some batches at once. */
async function checkBatches(
  all: readonly (readonly CheckedBundle[])[],
  context: ReadContext,
  signal: AbortSignal,
  progress: (done: number) => void,
): Promise<void> {
  const found: CertificateBuilder[] = [];
  let done = 0;
  // Where a batch fails, the loop that it was in ends the iterator, and so the other loops.
  const batches = all.values();
  const checkInTurn = async (): Promise<void> => {
    const database = await context.database.openConnection();
    try {
      for (const batch of batches) {
        signal.throwIfAborted();
        const certificate = new CertificateBuilder();
        found.push(certificate);
        await checkBatch(batch, { ...context, certificate, database });
        done += batch.reduce((sum, { derived }) => sum + 1 + derived.length, 0);
        progress(done);
      }
    } finally {
      database.close();
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: batchesAtOnce }, checkInTurn));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  for (const certificate of found) context.certificate.addAll(certificate);
}

/** Reads the files of a batch. Where DuckDB can't read one of them, each file is read alone. */
async function checkBatch(batch: readonly CheckedBundle[], context: ReadContext): Promise<void> {
  const { database, index, lake, certificate } = context;
  const all = batch.flatMap(({ main, derived }) => [main, ...derived]);
  try {
    const intact = new Set<CheckedFile>();
    for (const file of all) if (await hasRows(file, context)) intact.add(file);
    const together = new CertificateBuilder();
    const checkAll = () => checkTogether(batch, intact, { ...context, certificate: together });
    if (batch.length > 1 && (await index.addTogether(database, checkAll))) certificate.addAll(together);
    else for (const bundle of batch) await checkAlone(bundle, intact, context);
  } finally {
    // Local copies; those that are compared at the end stay until then.
    const copies = all.filter((file) => lake.store.localPath(file.file) === undefined && !isReadAgain(file, lake));
    for (const { path } of copies) await rm(path, { force: true });
  }
}

/** Whether the rows of a file are worth reading. */
async function hasRows(file: CheckedFile, context: CheckContext): Promise<boolean> {
  for (const check of checks) if ((await check.bytes?.(file, context)) === false) return false;
  return true;
}

function isReadAgain(file: CheckedFile, lake: Lake): boolean {
  return checks.some((check) => check.readsAgain?.(file, lake));
}

async function checkTogether(
  batch: readonly CheckedBundle[],
  intact: ReadonlySet<CheckedFile>,
  context: ReadContext,
): Promise<void> {
  const whole = batch.filter(({ main, derived }) => [main, ...derived].every((file) => intact.has(file)));
  for (const files of groupBy(intact, ({ table }) => table).values()) await checkRows(files, whole, context);
  context.damaged.push(...batch.filter((bundle) => !whole.includes(bundle)).map(({ main }) => main));
}

async function checkAlone(
  bundle: CheckedBundle,
  intact: ReadonlySet<CheckedFile>,
  context: ReadContext,
): Promise<void> {
  const { main, derived } = bundle;
  const found: CertificateBuilder[] = [];
  let read = 0;
  // The rows of the main file are read with those of the others, if these can be read.
  for (const file of [main, ...derived].filter((each) => intact.has(each)).toReversed()) {
    const certificate = new CertificateBuilder();
    found.push(certificate);
    const whole = read === derived.length ? [bundle] : [];
    if (await isReadable(file, certificate, () => checkRows([file], whole, { ...context, certificate }))) read++;
  }
  for (const certificate of found.toReversed()) context.certificate.addAll(certificate);
  if (read < 1 + derived.length) context.damaged.push(main);
}

/** Checks files of one table and account, and keeps what is compared at the end. */
async function checkRows(
  files: readonly CheckedFile[],
  whole: readonly CheckedBundle[],
  context: ReadContext,
): Promise<void> {
  const [first] = files;
  if (first === undefined) return;
  const { schema } = first;
  const bundles = whole.filter(({ main }) => main.table === schema.name);
  const tableFiles = { schema, files, bundles };
  for (const check of checks) await check.files?.(tableFiles, context);
  await context.index.add(tableFiles, context.database);
  if (hasEvents(schema)) await checkEvents(bundles, context);
}

/** Runs checks of a file. Where DuckDB can't read the file, adds that as a problem of the file, and returns false. */
async function isReadable(
  file: CheckedFile,
  certificate: CertificateBuilder,
  check: () => Promise<void>,
): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (error) {
    if (codeOf(error) !== 'SQL') throw error;
    const [line = ''] = messageOf(error).split('\n');
    certificate.add(parquetCheck, 'lake', file, `the file can't be read as ${file.table}: ${line}`);
    return false;
  }
}

/** What is compared at the end. */
async function comparisonOf(
  context: ReadContext,
  bundles: readonly CheckedBundle[],
  accounts: readonly string[],
): Promise<Comparison> {
  const { lake, index, damaged } = context;
  const settlements = await index.settlements();
  const readAgain = bundles
    .filter(({ main }) => isReadAgain(main, lake) && !damaged.includes(main))
    .flatMap(({ main, derived }) => [main, ...derived]);
  const known = {
    ...context,
    accounts,
    settlements,
    summaries: await index.totals(settlementSummaries),
    reports: await index.totals(settlementReports),
    readAgain,
  };
  const loaded = loadedSettlements(known);
  const before = new Map<string, number>();
  for (const account of accounts) {
    const instant = lake.snapshot.forgottenBefore(account);
    if (instant !== undefined) before.set(account, instant);
  }
  if (before.size === 0) return { ...known, loaded, forgotten: [], isForgotten: () => false };
  const [groups, oldest] = [await index.groups(), await index.oldest()];
  const isForgotten: Comparison['isForgotten'] = ({ account, start }) =>
    start !== null && start < Math.min(oldest.get(account) ?? Infinity, before.get(account) ?? -Infinity);
  const lacksEvents = (settlement: Settlement) =>
    before.has(settlement.account) &&
    (groups.get(settlementKey(settlement.account, settlement.id)) ??
      (isForgotten(settlement) && totalFault(settlement, []) !== undefined));
  const forgotten = loaded.filter(lacksEvents);
  const lacking = new Set(forgotten);
  return { ...known, loaded: loaded.filter((settlement) => !lacking.has(settlement)), forgotten, isForgotten };
}
