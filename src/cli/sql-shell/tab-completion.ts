import { formats } from '../../core/text/formats.js';
import { dotCommands } from './dot-commands.js';
import type { Database } from '../../core/duckdb/connection.js';

/** The names that a statement can use. */
export interface CompletionNames {
  readonly tables: ReadonlyMap<string, readonly string[]>;
  readonly keywords: readonly string[];
}

/** The typed start of a file name after `.output` and `.read`; undefined in any other text. */
export function typedFile(text: string): string | undefined {
  return /^\s*\.(?:output|read)\s+(.*)$/.exec(text)?.[1];
}

/** Words that a statement begins with. */
const firstWords = [
  ...['select', 'from', 'with', 'values', 'describe', 'summarize', 'show', 'explain', 'pivot', 'unpivot'],
  ...['create', 'insert', 'update', 'delete', 'drop', 'copy', 'set', 'pragma', 'call', 'attach', 'detach', 'use'],
];

/** Words before the name of a table. */
const beforeTable = /\b(?:from|join|into|update|table|describe|summarize)\s+$/i;

/**
 * The completions at the end of a text: words that may replace `typed`, the word before the cursor.
 *
 * @param text the statement up to the cursor, with its earlier lines; or a line with a command
 */
export function suggestions(
  text: string,
  catalog: CompletionNames,
): { readonly words: readonly string[]; readonly typed: string } {
  const command = /^\s*\.(\w*)(?:\s+(\S*))?$/.exec(text);
  if (command !== null) {
    const [, name = '', argument] = command;
    if (argument === undefined)
      return { words: beginning(dotCommands, name).map((word) => `.${word}`), typed: `.${name}` };
    const values = name === 'format' ? formats : name === 'schema' ? [...catalog.tables.keys()] : [];
    return { words: beginning(values, argument), typed: argument };
  }
  const typed = /(?<![\p{L}\p{N}_])[\p{L}_][\p{L}\p{N}_]*$/u.exec(text)?.[0] ?? '';
  const before = text.slice(0, text.length - typed.length);
  if (isQuoted(before)) return { words: [], typed };
  const qualifier = /([\p{L}_][\p{L}\p{N}_]*)\.$/u.exec(before)?.[1];
  if (qualifier !== undefined) return { words: beginning(qualifiedColumns(qualifier, text, catalog), typed), typed };
  const tables = [...catalog.tables.keys()];
  if (beforeTable.test(before)) return { words: beginning(tables, typed), typed };
  const columns = new Set([...catalog.tables.values()].flat());
  // An empty word would match every name.
  if (typed === '') return { words: [], typed };
  const upper = typed === typed.toUpperCase();
  const inCase = (word: string) => (upper ? word.toUpperCase() : word.toLowerCase());
  const first = /(?:^|;)\s*$/.test(before) ? beginning(firstWords.map(inCase), typed) : [];
  if (first.length > 0) return { words: first, typed };
  const keywords = catalog.keywords.map(inCase);
  return { words: beginning([...columns, ...tables, ...keywords], typed), typed };
}

/** The words that begin as typed, without regard to case, each once. */
function beginning(words: readonly string[], typed: string): string[] {
  const prefix = typed.toLowerCase();
  return [...new Set(words)].filter((word) => word.toLowerCase().startsWith(prefix)).toSorted();
}

/** The columns of a table, by its name or an alias. */
function qualifiedColumns(qualifier: string, text: string, { tables }: CompletionNames): readonly string[] {
  const prefix = qualifier.toLowerCase();
  for (const [, table = '', alias = ''] of text.matchAll(/\b(?:from|join|,)\s+(\w+)\s+(?:as\s+)?(\w+)/gi)) {
    if (alias.toLowerCase() === prefix && tables.has(table.toLowerCase())) return tables.get(table.toLowerCase()) ?? [];
  }
  return tables.get(prefix) ?? [];
}

/** Whether a text ends within quotes. */
function isQuoted(text: string): boolean {
  return (text.match(/'/g)?.length ?? 0) % 2 === 1 || (text.match(/"/g)?.length ?? 0) % 2 === 1;
}

/** All tables and views with their columns, and DuckDB's keywords. */
export async function readCatalog(database: Database): Promise<CompletionNames> {
  const tables = new Map<string, string[]>();
  const columns = await database.rows(
    'SELECT table_name, column_name FROM information_schema.columns ORDER BY table_name, ordinal_position',
  );
  for (const row of columns) {
    const table = String(row['table_name']);
    tables.set(table, [...(tables.get(table) ?? []), String(row['column_name'])]);
  }
  const keywords = await database.rows('SELECT keyword_name FROM duckdb_keywords()');
  return { tables, keywords: keywords.map((row) => String(row['keyword_name'])) };
}
