import type { Add } from '../../lake/delta/actions.js';
import type { DeltaTable } from '../../lake/delta/delta-table.js';
import { referencedFiles } from '../../lake/transaction/references.js';
import type { Lake } from '../../lake/lake.js';
import type { Certificate, Place } from './certificate.js';
import { mainTable } from './main-tables.js';

/** A file that the log names, with what the log says of it. */
export interface LogFile extends Place {
  readonly delta: DeltaTable;
  readonly add: Add;
  readonly pipeline: string;
  readonly account: string;
  /** The folder's: `2025-03`, or `unknown`. */
  readonly month: string;
  readonly units: readonly string[];
  readonly rows: number;
  readonly sha256: string;
  /** Net sums by currency, where the table has amounts. */
  readonly net: Readonly<Record<string, string>> | undefined;
  /** Lake-relative paths; undefined for a file of a derived table. */
  readonly derived: readonly string[] | undefined;
  readonly stats: Statistics;
}

/** Statistics in Delta's form. */
export interface Statistics {
  readonly numRecords: number;
  readonly minValues: Readonly<Record<string, unknown>>;
  readonly maxValues: Readonly<Record<string, unknown>>;
  readonly nullCount: Readonly<Record<string, unknown>>;
}

/** The files of every table as the log names them. */
export interface LogFiles {
  readonly files: readonly LogFile[];
  /** Tables of which one was left out, as its tags can't be understood, which is a problem. */
  readonly obscure: ReadonlySet<string>;
}

export function logFiles(lake: Lake, account: string | undefined, certificate: Certificate): LogFiles {
  const named = referencedFiles(lake.tables);
  const files: LogFile[] = [];
  const obscure = new Set<string>();
  for (const delta of lake.tables) {
    for (const add of delta.snapshot.files.values()) {
      if (account !== undefined && add.partitionValues['account'] !== account) continue;
      certificate.count('log-tags');
      const file = readFile(delta, add, named);
      if (typeof file !== 'string') files.push(file);
      else {
        obscure.add(delta.schema.name);
        const slice = add.tags?.['units'] ?? '';
        certificate.add('log-tags', 'lake', { table: delta.schema.name, file: delta.pathOf(add), slice }, file);
      }
    }
  }
  return { files, obscure };
}

/** What the log says of a file, or what is wrong with that. */
function readFile(delta: DeltaTable, add: Add, named: ReadonlySet<string>): LogFile | string {
  const { tags } = add;
  const table = delta.schema.name;
  const file = delta.pathOf(add);
  if (tags?.['pipeline'] === undefined) return 'the file has none of the tags of ledgerlake: another program added it';
  const units = strings(tags['units']);
  const derived = strings(tags['derived']);
  const net = object(tags['net']);
  const stats = statistics(add.stats);
  const { account = '', month = '' } = add.partitionValues as Readonly<Record<string, string | undefined>>;
  if (units === undefined || units.length === 0)
    return `expected the tag units to be a list, got ${shown(tags['units'])}`;
  if (!/^\d+$/.test(tags['rows'] ?? '')) return `expected the tag rows to be a number, got ${shown(tags['rows'])}`;
  if (!/^[0-9a-f]{64}$/.test(tags['sha256'] ?? '')) return `expected the tag sha256, got ${shown(tags['sha256'])}`;
  if (tags['account'] !== account) return `expected the tag account to be ${account}, got ${shown(tags['account'])}`;
  if (stats === undefined) return `expected statistics, got ${shown(add.stats)}`;
  const main = mainTable(delta.schema);
  if (main !== undefined && derived === undefined) return `expected the tag derived, got ${shown(tags['derived'])}`;
  if (main?.entries !== undefined && net === undefined) return `expected the tag net, got ${shown(tags['net'])}`;
  if (!file.startsWith(`${table}/account=${account}/month=${month}/`)) {
    return `expected the file in account=${account}/month=${month}`;
  }
  return {
    table,
    file,
    slice: units.length === 1 ? (units[0] ?? '') : `${units[0] ?? ''} and ${units.length - 1} more`,
    delta,
    add,
    pipeline: tags['pipeline'],
    account,
    month,
    units,
    rows: Number(tags['rows']),
    sha256: tags['sha256'] ?? '',
    net,
    derived:
      main !== undefined ? derived : delta.schema.lasting === true && counts(file, derived, named) ? [] : undefined,
    stats,
  };
}

/** Whether a lasting table's file counts, so that it needs no other to name it. */
function counts(file: string, derived: readonly string[] | undefined, named: ReadonlySet<string>): boolean {
  return derived !== undefined || named.has(file);
}

function shown(tag: string | undefined): string {
  return tag === undefined ? 'none' : JSON.stringify(tag.slice(0, 60));
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    // What isn't JSON isn't what was expected either, and that is told.
    return undefined;
  }
}

function strings(text: string | undefined): readonly string[] | undefined {
  const value = parsed(text);
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
}

function object(text: string | undefined): Readonly<Record<string, string>> | undefined {
  const value = record(parsed(text));
  if (value === undefined) return undefined;
  const pairs = Object.entries(value).map(([key, item]): [string, string] => [key, String(item)]);
  return Object.fromEntries(pairs);
}

function record(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

function statistics(text: string | undefined): Statistics | undefined {
  const value = record(parsed(text));
  const numRecords = value?.['numRecords'];
  if (typeof numRecords !== 'number') return undefined;
  return {
    numRecords,
    minValues: record(value?.['minValues']) ?? {},
    maxValues: record(value?.['maxValues']) ?? {},
    nullCount: record(value?.['nullCount']) ?? {},
  };
}
