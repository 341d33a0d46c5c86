import type { Emit } from '../../core/events/run-event.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { openDatabase } from '../../core/duckdb/connection.js';
import { codeOf, messageOf } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import type { Lake } from '../../lake/lake.js';
import { readRuns } from '../../lake/leases.js';
import { lakeChecks, tableChecks } from './checks/check-list.js';
import { checkCatalog, type ExpectedVersion } from './checks/catalog-chain.js';
import { CertificateBuilder, type CheckContext } from './checks/certificate.js';
import type { ComparedContents } from './checks/comparison.js';
import type { ReadableBundle } from './checks/event-entries.js';
import { checkContents, type ReadableFile } from './checks/file-contents.js';
import { IndexTables } from './checks/index-tables.js';
import { checkWindows } from './checks/loaded-windows.js';
import { checkedBundles, logFiles, type CheckedBundle, type LogFile } from './checks/log-files.js';
import { loadedSettlements } from '../settlements/settlements.js';
import { forgottenIn, wholeSettlements } from './checks/group-totals.js';
import { isCompared } from './checks/report-lines.js';
import { checkRequestedRanges } from './checks/requested-ranges.js';
import { readUnfinished, type UnfinishedRange } from '../coverage/unfinished-ranges.js';
import { checkBytes, checkUnreferenced, type LocalFile } from './checks/stored-files.js';

export interface VerifyLakeOptions {
  readonly lake: Lake;
  /** Undefined: every account. */
  readonly account: string | undefined;
  /** A version that the catalog must have. */
  readonly expected?: ExpectedVersion | undefined;
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
  const certificate = new CertificateBuilder();
  const runs = await readRuns(lake.store, clock);
  const isRunning = runs.active.length > 0;
  const { files, damaged } = logFiles(lake, account, certificate);
  const accounts = account === undefined ? [...lake.accounts()] : [account];
  await checkCatalog(lake, runs, expected, certificate);
  checkWindows(lake, accounts, files, certificate);
  const unfinished = await readUnfinished(lake, emit);
  const isChecked = (range: UnfinishedRange) => account === undefined || range.account === account;
  checkRequestedRanges(lake, unfinished.filter(isChecked), isRunning, certificate);
  const bundles = checkedBundles(files, certificate);
  await checkUnreferenced(account, isRunning, { lake, certificate });

  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-verify-'));
  const database = await openDatabase({
    folders: [lake.store.localPath('') ?? folder, folder],
    settings: { memory_limit: memoryLimit },
    signal,
  });
  const context = { lake, certificate, database, signal };
  try {
    const index = await IndexTables.create(context);
    const progress = progressLog(files.length, options);
    tuneForComputation();
    const contents = await checkBundles(bundles, { ...context, folder, index }, progress);
    contents.damaged.push(...damaged);
    certificate.noteUnsummed();
    const forgotten = await forgottenIn(lake, accounts, index);
    const loaded = wholeSettlements(loadedSettlements({ ...contents, lake }), forgotten, context);
    const comparison = { ...contents, lake, accounts, index, forgotten, loaded };
    for (const check of lakeChecks) await check(comparison, context);
    return certificate;
  } finally {
    database.close();
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
      const size = [bundle.main, ...bundle.derived].reduce((sum, { add }) => sum + add.size, 0);
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

/** Where bundles are checked. */
interface BundleContext extends CheckContext {
  /** The folder of local copies. */
  readonly folder: string;
  readonly index: IndexTables;
}

/** What bundles have: what is wrong, and what is compared across them. */
class BundleFindings {
  readonly certificate = new CertificateBuilder();
  readonly contents: ComparedContents = { settlements: [], summaries: [], reports: [], files: [], damaged: [] };

  addAll({ certificate, contents }: BundleFindings): void {
    this.certificate.addAll(certificate);
    this.contents.settlements.push(...contents.settlements);
    this.contents.summaries.push(...contents.summaries);
    this.contents.reports.push(...contents.reports);
    this.contents.files.push(...contents.files);
    this.contents.damaged.push(...contents.damaged);
  }
}

/** Reads all bundles, some batches at once, and collects what is compared across them. */
async function checkBundles(
  bundles: readonly CheckedBundle[],
  context: BundleContext,
  progress: (done: number) => void,
): Promise<ComparedContents> {
  const found: BundleFindings[] = [];
  let done = 0;
  // Where a batch fails, the loop that it was in ends the generator, and so the other loops.
  const batches = batchesOf(bundles);
  const checkInTurn = async (): Promise<void> => {
    const database = await context.database.openConnection();
    try {
      for (const batch of batches) {
        context.signal.throwIfAborted();
        const findings = new BundleFindings();
        found.push(findings);
        await checkBatch(batch, findings, { ...context, database });
        done += batch.reduce((sum, { derived }) => sum + 1 + derived.length, 0);
        progress(done);
      }
    } finally {
      database.close();
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: batchesAtOnce }, checkInTurn));
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
  const all = new BundleFindings();
  for (const findings of found) all.addAll(findings);
  context.certificate.addAll(all.certificate);
  return all.contents;
}

/** A bundle, and those of its files that match the log. */
interface LocalBundle {
  readonly bundle: CheckedBundle;
  readonly files: readonly ReadableFile[];
}

/** Reads the files of a batch. Where DuckDB can't read one of them, each bundle is read alone. */
async function checkBatch(
  batch: readonly CheckedBundle[],
  findings: BundleFindings,
  context: BundleContext,
): Promise<void> {
  const { certificate } = findings;
  const { database, folder, index, lake } = context;
  // Those that are compared at the end stay until then.
  const copies: LocalFile[] = [];
  try {
    const local: LocalBundle[] = [];
    for (const bundle of batch) {
      const files: ReadableFile[] = [];
      for (const file of [bundle.main, ...bundle.derived]) {
        const found = await checkBytes(file, folder, { ...context, certificate });
        if (found === undefined) continue;
        if (!isCompared(file, lake)) copies.push(found);
        files.push({ file, path: found.path });
      }
      certificate.count('parquet', files.length);
      local.push({ bundle, files });
    }
    if (local.length > 1) {
      const together = new BundleFindings();
      const allRead: Attempt = async (_, check) => {
        await check();
        return true;
      };
      if (await index.addTogether(database, () => checkRows(local, allRead, together, context))) {
        findings.addAll(together);
        return;
      }
    }
    for (const one of local) {
      await checkRows([one], (file, check) => isReadable(file, certificate, check), findings, context);
    }
  } finally {
    for (const file of copies) await file.release();
  }
}

/** Runs a check of a file, or of several that are read together. Returns whether DuckDB could read them. */
type Attempt = (file: LogFile, check: () => Promise<void>) => Promise<boolean>;

/** Checks the rows of bundles of one table and account. */
async function checkRows(
  bundles: readonly LocalBundle[],
  attempt: Attempt,
  { certificate, contents }: BundleFindings,
  shared: BundleContext,
): Promise<void> {
  const context = { ...shared, certificate, contents };
  const readable = new Set<ReadableFile>();
  const tables = groupBy(
    bundles.flatMap(({ files }) => files),
    ({ file }) => file.table,
  );
  for (const files of tables.values()) {
    // The files of one bundle may have a fault each.
    for (const together of bundles.length > 1 ? [files] : files.map((file) => [file])) {
      const [first] = together;
      if (first === undefined || !(await attempt(first.file, () => checkContents(together, context)))) continue;
      for (const file of together) readable.add(file);
    }
  }
  const whole: ReadableBundle[] = [];
  for (const { bundle, files } of bundles) {
    const [main, ...derived] = files.filter((file) => readable.has(file));
    if (main?.file !== bundle.main || derived.length !== bundle.derived.length) contents.damaged.push(bundle.main);
    else {
      whole.push({ main, derived });
      if (isCompared(bundle.main, context.lake)) contents.files.push(main, ...derived);
    }
  }
  for (const all of tables.values()) {
    const files = all.filter((file) => readable.has(file));
    const [first] = files;
    if (first === undefined) continue;
    const rows = { files, bundles: whole.filter(({ main }) => main.file.table === first.file.table) };
    await attempt(first.file, async () => {
      for (const { appliesTo, check } of tableChecks) {
        if (appliesTo(first.file.delta.schema)) await check(rows, context);
      }
    });
  }
}

/** Runs a check. Where DuckDB can't read the file, adds that as a problem of the file, and returns false. */
async function isReadable(
  file: LogFile,
  certificate: CertificateBuilder,
  check: () => Promise<void>,
): Promise<boolean> {
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
