import { LedgerlakeError } from '../../core/errors.js';
import { truncateText } from '../../core/printable.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import { loadKeysText } from '../../lake/files/load-key-rows.js';
import { damageOf, sizeFault } from '../../lake/files/local-file.js';
import { footerFault } from '../../lake/files/footer-fault.js';
import type { Lake } from '../../lake/lake.js';
import { readLastRuns } from '../../lake/upkeep/last-run.js';
import { commandIn, type CommandScope } from '../command-text.js';
import { damagedFileRemedy } from '../coverage/damaged-rows.js';
import { remedyCommand } from '../remedy.js';

interface FileFault {
  readonly file: DataFile;
  readonly fault: string;
}

/** Errors that name a file which can't be read, by table. */
export type TableFaults = ReadonlyMap<string, LedgerlakeError>;

/** DuckDB's messages about a file whose bytes it didn't get. */
const unreachable = /^(?:HTTP|IO) Error: /;
/** DuckDB's messages about bytes that are no Parquet, beside errors of its own without a class. */
const corrupt = /^Invalid Error: |corrupt|decompress|parquet|thrift|zstd|magic bytes|buffer/i;
/** A quoted path in an error, which may be a file of the statement itself. */
const quotedFile = /["'][^"'\n]*[/.][^"'\n]*["']/;
/** Characters of DuckDB's message that are quoted: it may contain damaged bytes. */
const mostQuoted = 200;
/** Maximum size of a lake whose files are searched for a damaged one. */
const mostRead = 2_000_000_000;

/**
 * Replaces an error of DuckDB about a file of the lake with one that names the file, its slice and the command that repairs it.
 * Where DuckDB doesn't name the file, compares the lake's files with their hashes. Returns any other error unchanged.
 */
export async function fileFault(error: unknown, lake: Lake, scope: CommandScope & { lake: string }): Promise<unknown> {
  if (!(error instanceof LedgerlakeError) || error.code !== 'SQL') return error;
  const files = lake.files();
  const named = files.find((file) => error.message.includes(lake.store.address(file.lakePath)));
  if (named === undefined && (quotedFile.test(error.message) || !corrupt.test(error.message))) return error;
  const [words = ''] = error.message.split('\n');
  const verify = commandIn(scope, 'ledgerlake verify');
  const found = await (named === undefined ? firstDamage(lake, files) : faultIn(named, words, lake));
  if (found === undefined) {
    const quoted = truncateText(words, mostQuoted);
    if (named !== undefined) {
      const address = lake.store.address(named.lakePath);
      return sqlError(`expected DuckDB to read ${address}, whose bytes are right, got ${quoted}`, error);
    }
    return sqlError(
      `expected readable files in the lake, DuckDB cannot read one (${quoted}); \`${verify}\` names it`,
      error,
    );
  }
  return sqlError(await damageText(found, lake, scope), error);
}

/**
 * Compares the files of the named tables with the log, but those in `checked`, to which it adds the ones without a fault: DuckDB
 * reads a foreign Parquet file as rows of nulls. Compares sizes, and on the local disk what the footer states, where the file has
 * changed since the log was written. A file that is missing is left to DuckDB, because a commit may have replaced it.
 *
 * @returns for each table with such a file the error SQL that names it, as `fileFault` does
 */
export async function checkFiles(
  lake: Lake,
  scope: CommandScope & { lake: string },
  checked: Set<DataFile>,
  names: readonly string[],
): Promise<TableFaults> {
  const isNew = (file: DataFile) => names.includes(file.table) && !checked.has(file);
  const files = new Map(
    lake
      .files()
      .filter(isNew)
      .map((file) => [file.lakePath, file]),
  );
  const folders = new Set(Array.from(files.values(), ({ table }) => table));
  const faults = new Map<string, LedgerlakeError>();
  await Promise.all(
    Array.from(folders, async (folder) => {
      for await (const { path, size, changedAt = 0 } of lake.store.list(folder)) {
        const file = files.get(path);
        if (file === undefined) continue;
        const fault =
          sizeFault(file, size) ?? (changedAt > file.modificationTime ? await localFault(file, lake) : undefined);
        if (fault === undefined) checked.add(file);
        else {
          faults.set(folder, new LedgerlakeError('SQL', await damageText({ file, fault }, lake, scope)));
          return;
        }
      }
    }),
  );
  return faults;
}

/** What the footer of a local file shows. DuckDB finds a file that is no Parquet, or is gone by then. */
async function localFault(file: DataFile, lake: Lake): Promise<string | undefined> {
  const local = lake.store.localPath(file.lakePath);
  if (local === undefined) return undefined;
  const columns = lake.snapshot.columnsOf(lake.table(file.table));
  return footerFault(local, file, columns, lake.store).catch(() => undefined);
}

/** Names a damaged file, its slice and the command that repairs it. */
export async function damageText(
  { file, fault }: FileFault,
  lake: Lake,
  scope: CommandScope & { lake: string },
): Promise<string> {
  const verify = commandIn(scope, 'ledgerlake verify');
  const path = file.lakePath;
  const { loadKeys } = file;
  const [first = '', ...others] = loadKeys;
  const rows = { table: file.table, file: path, loadKey: others.length === 0 ? first : '' };
  const remedy = damagedFileRemedy(rows, lake);
  const named = { location: scope.lake, config: scope.config, lastRuns: await readLastRuns(lake.store) };
  const copy = remedy === undefined || lake.table(file.table).appendOnly === true ? ['restore it from a copy'] : [];
  const run = remedy === undefined ? [] : [`run \`${remedyCommand(remedy, named)}\``];
  const address = lake.store.address(path);
  const advice = [...copy, ...run].join(', or ');
  return `expected the file ${address} (${loadKeysText(loadKeys) || 'no slice'}), ${fault}: ${advice}; \`${verify}\` names what else is wrong`;
}

/** The fault of a file that DuckDB names; undefined where its bytes are right and DuckDB couldn't fetch them. */
async function faultIn(file: DataFile, words: string, { store }: Lake): Promise<FileFault | undefined> {
  const fault = await damageOf(store, file);
  if (fault !== undefined) return { file, fault };
  if (unreachable.test(words)) return undefined;
  const detail = words.replaceAll(store.address(file.lakePath), 'it');
  return { file, fault: `it is damaged (${truncateText(detail, mostQuoted)})` };
}

async function firstDamage(lake: Lake, files: readonly DataFile[]): Promise<FileFault | undefined> {
  if (files.reduce((sum, { size }) => sum + size, 0) > mostRead) return undefined;
  for (const file of files) {
    const fault = await damageOf(lake.store, file);
    if (fault !== undefined) return { file, fault };
  }
  return undefined;
}

function sqlError(message: string, cause: LedgerlakeError): LedgerlakeError {
  return new LedgerlakeError('SQL', message, { cause, details: cause.message });
}
