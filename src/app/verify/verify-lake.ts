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
import { readUnfinished, type UnfinishedRange } from '../coverage/unfinished-ranges.js';
import { loadedSettlements } from '../settlements/settlements.js';
import { checks } from './check-list.js';
import type { CatalogVersion } from '../results.js';
import { CertificateBuilder } from './common/certificate.js';
import {
  countUnsummed,
  hasEntries,
  type CheckContext,
  type ComparedContents,
  type ReadableBundle,
} from './common/check.js';
import { checkEvents } from './event-entries.js';
import { checkBytes, type LocalFile } from './checks/file-bytes.js';
import { forgottenIn, wholeSettlements } from './checks/group-totals.js';
import { IndexTables } from './common/index-tables.js';
import { checkedBundles, logFiles, type CheckedBundle, type LogFile } from './common/log-files.js';
import { parquetCheck } from './checks/parquet.js';
import type { ReadableFile } from './common/readable-files.js';
import { isCompared } from './checks/report-lines.js';

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
  const certificate = new CertificateBuilder(checks);
  const runs = await readRuns(lake.store, clock);
  const { files, damaged } = logFiles(lake, account, certificate);
  const accounts = account === undefined ? [...lake.accounts()] : [account];
  const isChecked = (range: UnfinishedRange) => account === undefined || range.account === account;
  const unfinished = (await readUnfinished(lake, emit)).filter(isChecked);
  const catalog = { lake, account, accounts, files, runs, unfinished, expected, certificate };
  for (const check of checks) await check.catalog?.(catalog);

  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-verify-'));
  const database = await openDatabase({
    folders: [lake.store.localPath('') ?? folder, folder],
    settings: { memory_limit: memoryLimit },
    signal,
  });
  try {
    const index = await IndexTables.create(database);
    const context = { lake, certificate, database, index };
    const progress = progressLog(files.length, options);
    tuneForComputation();
    const contents = await checkBundles(checkedBundles(files), { ...context, folder, signal }, progress);
    contents.damaged.push(...damaged);
    const forgotten = await forgottenIn(lake, accounts, index);
    const loaded = wholeSettlements(loadedSettlements({ ...contents, lake }), forgotten, certificate);
    const comparison = { ...context, ...contents, accounts, forgotten, loaded };
    for (const check of checks) await check.across?.(comparison);
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
interface BundleContext extends Omit<CheckContext, 'contents'> {
  /** The folder of local copies. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** What bundles have: what is wrong, and what is compared across them. */
class BundleFindings {
  readonly certificate = new CertificateBuilder();
  readonly contents: ComparedContents = {
    ...{ settlements: [], summaries: [], reports: [], files: [], damaged: [] },
    unsummed: new Map(),
  };

  addAll({ certificate, contents }: BundleFindings): void {
    this.certificate.addAll(certificate);
    this.contents.settlements.push(...contents.settlements);
    this.contents.summaries.push(...contents.summaries);
    this.contents.reports.push(...contents.reports);
    this.contents.files.push(...contents.files);
    this.contents.damaged.push(...contents.damaged);
    for (const [table, currencies] of contents.unsummed)
      for (const [currency, times] of currencies) countUnsummed(this.contents, table, currency, times);
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
      certificate.count(parquetCheck, files.length);
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
      if (first === undefined) continue;
      const isRead = await attempt(first.file, async () => {
        for (const { files: stage } of checks)
          if (stage?.appliesTo(first.file.delta.schema) === true) await stage.check(together, context);
      });
      if (!isRead) continue;
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
    const { schema } = first.file.delta;
    await attempt(first.file, async () => {
      const stages = checks.flatMap(({ rows: of = [] }) => of).filter(({ appliesTo }) => appliesTo(schema));
      for (const { check } of stages) await check(rows, context);
      if (hasEntries(schema)) await checkEvents(rows.bundles, checks, context);
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
    certificate.add(parquetCheck, 'lake', file, `the file can't be read as ${file.table}: ${line}`);
    return false;
  }
}
