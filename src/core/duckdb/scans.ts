import { codeOf } from '../errors.js';
import type { Database, QueryOptions } from './connection.js';
import { columnAliasOf } from './views.js';
import { literal } from './literals.js';
import { statementsOf } from './sql-statements.js';

/** A scan of Parquet files in the plan of a statement. */
interface ParquetScan {
  /** Columns that it reads, as the views call them; empty for a number of rows. */
  readonly columns: readonly string[];
  /** Conditions on `filename`, joined without a word between them; undefined: it reads all files. */
  readonly fileFilters: string | undefined;
  /** How many of how many files it reads; undefined: all. */
  readonly scanned: { readonly files: number; readonly of: number } | undefined;
}

/** A node of a plan, as DuckDB's EXPLAIN (FORMAT json) has it. */
interface PlanNode {
  readonly children?: readonly PlanNode[];
  readonly extra_info?: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * The scans of statements, by their plans: no file is opened for that. Undefined where they may have others, as where a statement needs
 * what another one creates. A statement that is wrong has none.
 *
 * @throws LedgerlakeError STOPPED, or the reason of the signal
 */
export async function scansOf(
  database: Database,
  text: string,
  options: QueryOptions,
): Promise<readonly ParquetScan[] | undefined> {
  const statements = statementsOf(text);
  const scans: ParquetScan[] = [];
  for (const statement of statements) {
    // An EXPLAIN reads nothing, unless it runs the statement.
    if (/^\s*explain\b(?!\s+analyze\b)/i.test(statement)) continue;
    try {
      const planned = statement.replace(/^\s*explain\s+analyze\b/i, '');
      const rows = await database.rows(`EXPLAIN (FORMAT json) ${planned}`, options);
      for (const row of rows)
        scans.push(...(JSON.parse(String(row['explain_value'])) as readonly PlanNode[]).flatMap(scansIn));
    } catch (error) {
      if (codeOf(error) !== 'SQL') throw error;
      if (statements.length > 1 || /^\s*export\b/i.test(statement)) return undefined;
    }
  }
  return scans;
}

function scansIn({ children = [], extra_info: info = {} }: PlanNode): readonly ParquetScan[] {
  const below = children.flatMap(scansIn);
  if (info['Function'] !== 'READ_PARQUET') return below;
  const [, files, of] = /^(\d+)\/(\d+)$/.exec(String(info['Scanning Files'] ?? '')) ?? [];
  const filters = info['File Filters'];
  const scan = {
    columns: [info['Projections'] ?? []].flat().filter((column) => column !== ''),
    fileFilters: filters === undefined ? undefined : [filters].flat().join(''),
    scanned: files === undefined ? undefined : { files: Number(files), of: Number(of) },
  };
  return [scan, ...below];
}

/**
 * The files of a table's view that the scans of a statement may read; a superset where the plan doesn't tell.
 *
 * @param files those of the view
 */
export async function scannedFiles(
  database: Database,
  table: string,
  files: readonly string[],
  scans: readonly ParquetScan[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const { columns, fileFilters, scanned } of scans) {
    const owners = columns.filter((column) => column !== 'filename');
    const alias = columnAliasOf(table);
    if (owners.length > 0 && !owners.every((column) => alias.test(column))) continue;
    const isAnothers = owners.length === 0 && scanned !== undefined && scanned.of !== files.length;
    if (isAnothers) continue;
    const passing = fileFilters === undefined ? undefined : await passingFiles(database, files, fileFilters);
    // The number proves that the conditions were read as DuckDB means them.
    const isProven = passing !== undefined && scanned?.of === files.length && scanned.files === passing.length;
    for (const file of isProven ? passing : files) found.add(file);
  }
  return found;
}

/** The files that meet all conditions; undefined where they can't be evaluated. */
async function passingFiles(
  database: Database,
  files: readonly string[],
  filters: string,
): Promise<readonly string[] | undefined> {
  const conditions = conditionsIn(filters).map((condition) => `(${condition})`);
  try {
    const rows = await database.rows(
      `SELECT filename FROM (SELECT unnest([${files.map(literal).join(', ')}]) AS filename) WHERE ${conditions.join(' AND ')}`,
    );
    return rows.map(({ filename }) => String(filename));
  } catch (error) {
    if (codeOf(error) === 'SQL') return undefined;
    throw error;
  }
}

/** Conditions that follow each other without a space: `(a = 1)(b = 2)`. */
function conditionsIn(text: string): readonly string[] {
  const conditions: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of text.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]/g)) {
    if (token === '(') depth++;
    else if (token === ')') depth--;
    const end = index + token.length;
    if (token !== ')' || depth > 0 || /^(?:\s|$)/.test(text.slice(end, end + 1))) continue;
    conditions.push(text.slice(start, end));
    start = end;
  }
  return [...conditions, text.slice(start)];
}
