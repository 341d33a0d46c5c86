import { openDatabase } from '../../core/duckdb/connection.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Lake } from '../../lake/lake.js';
import { activeLeases } from '../../lake/upkeep/leases.js';
import { bundlesOf, type Bundle } from './bundles.js';
import { Certificate } from './certificate.js';
import { checkEvents } from './event-entries.js';
import { byGroup, listing, mainTable } from './main-tables.js';
import { checkContents, type ReadableFile } from './file-contents.js';
import { compareByGroup } from './group-comparison.js';
import { IndexTables } from './index-tables.js';
import { checkWindows } from './loaded-windows.js';
import { logFiles, type LogFile } from './log-files.js';
import { checkNetSums } from './net-sums.js';
import { checkTotals, loadedSettlements, settlementsOf, wholeSettlements, type Settlement } from './settlements.js';
import { checkBytes, checkUnnamed, localFolder, type LocalFile, type LocalFolder } from './stored-files.js';

export interface VerifyLakeOptions {
  readonly lake: Lake;
  /** Undefined: every account. */
  readonly account: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/** Memory for each of the two DuckDBs; what is more goes to temporary files. */
const memoryLimit = '1GB';
/** Files between two lines of progress. */
const progressFiles = 500;

/**
 * Proves a lake: reads every file that the log names, once, slice by slice, and what must be compared across files from
 * the few columns kept of them. Writes nothing to the lake. What is wrong with it is in the certificate; a file that
 * isn't what the log says is not read any further, as whatever it held would say nothing of the lake.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read, STOPPED when the signal aborts
 */
export async function verifyLake(options: VerifyLakeOptions): Promise<Certificate> {
  const { lake, account, clock, signal, log } = options;
  const certificate = new Certificate();
  const isRunning = (await activeLeases(lake.store, clock)).length > 0;
  const { files, obscure } = logFiles(lake, account, certificate);
  const accounts = account === undefined ? lake.accounts() : [account];
  await checkLogs(lake, certificate);
  checkWindows(lake, accounts, files, certificate);
  const bundles = bundlesOf(files, isRunning, certificate);
  await checkUnnamed(lake, account, isRunning, certificate);

  const folder = await localFolder();
  const confined = { folders: [lake.store.address(''), folder.path], settings: { memory_limit: memoryLimit } };
  const databases = { events: await openDatabase(confined), entries: await openDatabase(confined) };
  try {
    const index = await IndexTables.create(databases.events, signal);
    const reader = new BundleReader(options, folder, databases, index, certificate);
    let done = 0;
    for (const bundle of bundles) {
      signal.throwIfAborted();
      await reader.read(bundle);
      const before = done;
      done += bundle.mains.length + bundle.derived.length;
      if (Math.floor(done / progressFiles) > Math.floor(before / progressFiles)) {
        log(`verify: ${done} of ${files.length} files read`);
      }
    }
    await index.check(certificate);
    const comparable = { lake, settlements: reader.settlements, damaged: reader.damaged, obscure };
    const loaded = await wholeSettlements(loadedSettlements(comparable), index, certificate);
    await checkTotals(loaded, databases.events, certificate, signal);
    await compareByGroup(loaded, comparable, index, certificate, signal);
    return certificate;
  } finally {
    for (const database of Object.values(databases)) database.close();
    await folder.remove();
  }
}

/** Looks at the checkpoints and hints beside the commits, and compares checkpoints with them. */
async function checkLogs(lake: Lake, certificate: Certificate): Promise<void> {
  for (const table of lake.tables) {
    const { damaged, checkpoints, commits } = await table.replay();
    for (const { path, fault } of damaged) {
      const problem = `expected the file as it was written, ${fault ?? ''}; the commits stand, \`ledgerlake compact\` writes it again`;
      certificate.add('log-tags', 'lake', { table: table.schema.name, file: path, slice: '' }, problem);
    }
    for (const { path, fault, isCertain } of checkpoints) {
      const whatToDo = isCertain
        ? 'the commits stand, `ledgerlake compact` writes it again'
        : 'its commits have no checksum, so either may be wrong: restore the log from a copy, or delete the checkpoint if the commits are right';
      const problem = `expected the checkpoint to say what its commits say, ${fault}; ${whatToDo}`;
      certificate.add('log-tags', 'lake', { table: table.schema.name, file: path, slice: '' }, problem);
    }
    for (const { path, fault } of commits) {
      certificate.add('log-tags', 'lake', { table: table.schema.name, file: path, slice: '' }, fault);
    }
  }
}

/** Reads the files of one bundle after the other. */
class BundleReader {
  readonly settlements: Settlement[] = [];
  readonly damaged: LogFile[] = [];
  readonly #options: VerifyLakeOptions;
  readonly #folder: LocalFolder;
  readonly #databases: Parameters<typeof checkEvents>[2];
  readonly #index: IndexTables;
  readonly #certificate: Certificate;

  constructor(
    options: VerifyLakeOptions,
    folder: LocalFolder,
    databases: Parameters<typeof checkEvents>[2],
    index: IndexTables,
    certificate: Certificate,
  ) {
    this.#options = options;
    this.#folder = folder;
    this.#databases = databases;
    this.#index = index;
    this.#certificate = certificate;
  }

  async read(bundle: Bundle): Promise<void> {
    const local: LocalFile[] = [];
    try {
      const mains = await this.#readable(bundle.mains, local);
      const derived = await this.#readable(bundle.derived, local);
      const isWhole = bundle.isWhole && mains.length + derived.length === bundle.mains.length + bundle.derived.length;
      // Its rows can't be compared with anything then.
      if (!isWhole) this.damaged.push(...bundle.mains);
      for (const readable of [...mains, ...derived]) await this.#compare(readable, isWhole ? derived : []);
      if (isWhole && bundle.mains.some(({ delta }) => mainTable(delta.schema)?.entries !== undefined)) {
        const { events } = this.#databases;
        const { signal } = this.#options;
        await this.#guarded(bundle.mains[0], () =>
          checkEvents(mains, derived, this.#databases, this.#certificate, signal),
        );
        await this.#guarded(bundle.mains[0], () => checkNetSums(mains, derived, events, this.#certificate, signal));
      }
    } finally {
      for (const file of local) await file.release();
    }
  }

  /** The files that are what the log says and that DuckDB can read. */
  async #readable(files: readonly LogFile[], local: LocalFile[]): Promise<ReadableFile[]> {
    const readable: ReadableFile[] = [];
    const { lake, signal } = this.#options;
    for (const file of files) {
      const found = await checkBytes(file, lake, this.#folder, this.#certificate);
      if (found === undefined) continue;
      local.push(found);
      this.#certificate.count('parquet');
      const whole = { file, path: found.path };
      const isRead = await this.#guarded(file, () =>
        checkContents(whole, this.#databases.events, this.#certificate, signal),
      );
      if (isRead) readable.push(whole);
    }
    return readable;
  }

  /** Keeps what is compared across files. */
  async #compare(readable: ReadableFile, derived: readonly ReadableFile[]): Promise<void> {
    const { file } = readable;
    const { signal } = this.#options;
    await this.#guarded(file, async () => {
      if (file.table === byGroup.entries) await this.#index.addNets(readable);
      else if (file.table === listing.table) {
        this.settlements.push(...(await settlementsOf(readable, this.#databases.events, signal)));
      } else if (mainTable(file.delta.schema)?.entries !== undefined) await this.#index.addEvents(readable, derived);
    });
  }

  /** Runs a check; where DuckDB can't read the file, that is a problem of the file's. False then. */
  async #guarded(file: LogFile | undefined, check: () => Promise<void>): Promise<boolean> {
    try {
      await check();
      return true;
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code !== 'SQL' || file === undefined) throw error;
      const [line = ''] = error.message.split('\n');
      this.#certificate.add('parquet', 'lake', file, `the file can't be read as ${file.table}: ${line}`);
      return false;
    }
  }
}
