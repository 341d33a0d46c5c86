import { z } from 'zod';
import type { Add } from '../../../lake/delta/actions.js';
import type { DeltaTable } from '../../../lake/delta/delta-table.js';
import { loadKeysText } from '../../../lake/files/load-key-rows.js';
import { referencedFiles } from '../../../lake/transaction/references.js';
import type { Lake } from '../../../lake/lake.js';
import { parseNote } from '../../../lake/store/store.js';
import type { LakeRuns } from '../../../lake/upkeep/leases.js';
import type { Certificate, ProblemLocation } from './certificate.js';
import { pipelineTable } from './main-tables.js';

/** A file that the log names, with the tags and counts of its `add` action. */
export interface LogFile extends ProblemLocation {
  readonly delta: DeltaTable;
  readonly add: Add;
  readonly pipeline: string;
  readonly account: string;
  /** The month of its folder: `2025-03`, or `unknown`. */
  readonly month: string;
  readonly loadKeys: readonly string[];
  readonly rows: number;
  readonly sha256: string;
  /** Net sums by currency, where the table has amounts. */
  readonly net: Readonly<Record<string, string>> | undefined;
  /** Lake-relative paths; undefined for a file of a derived table. */
  readonly derived: readonly string[] | undefined;
  readonly stats: z.infer<typeof statistics>;
}

const record = z.record(z.string(), z.unknown());
const strings = z.array(z.string());
const netSums = z.record(z.string(), z.coerce.string());
/** The statistics, in the JSON form of the Delta protocol. */
const statistics = z.object({
  numRecords: z.number(),
  minValues: record.catch({}),
  maxValues: record.catch({}),
  nullCount: record.catch({}),
});

/** The parsed JSON of a tag; undefined where it isn't of the expected form. */
function parsed<T>(schema: z.ZodType<T>, text: string | undefined): T | undefined {
  return parseNote(text, (value) => schema.parse(value));
}

/** Whose rows a file has. */
export type FileOwner = Pick<LogFile, 'table' | 'account'>;

/**
 * The files of every table as the log names them. `obscure` are the table and account of each file whose tags can't be
 * understood; such a file is left out, and is a problem.
 */
export function logFiles(
  lake: Lake,
  account: string | undefined,
  certificate: Certificate,
): { readonly files: readonly LogFile[]; readonly obscure: readonly FileOwner[] } {
  const named = referencedFiles(lake.tables);
  const files: LogFile[] = [];
  const obscure: FileOwner[] = [];
  for (const delta of lake.tables) {
    for (const add of delta.snapshot.files.values()) {
      if (account !== undefined && add.partitionValues['account'] !== account) continue;
      certificate.count('log-tags');
      const file = readFile(delta, add, named);
      if (typeof file !== 'string') files.push(file);
      else {
        obscure.push({ table: delta.schema.name, account: add.partitionValues['account'] ?? '' });
        const slice = add.tags?.['units'] ?? '';
        certificate.add('log-tags', 'lake', { table: delta.schema.name, file: delta.pathOf(add), slice }, file);
      }
    }
  }
  return { files, obscure };
}

/** Returns the file with the content of its tags, or what is wrong with them. */
function readFile(delta: DeltaTable, add: Add, named: ReadonlySet<string>): LogFile | string {
  const { tags } = add;
  const table = delta.schema.name;
  const file = delta.pathOf(add);
  if (tags?.['pipeline'] === undefined) return 'the file has none of the tags of ledgerlake: another program added it';
  const loadKeys = parsed(strings, tags['units']);
  const derived = parsed(strings, tags['derived']);
  const net = parsed(netSums, tags['net']);
  const stats = parsed(statistics, add.stats);
  const { account = '', month = '' } = add.partitionValues as Readonly<Record<string, string | undefined>>;
  if (loadKeys === undefined || loadKeys.length === 0)
    return `expected the tag units to be a list, got ${shown(tags['units'])}`;
  if (!/^\d+$/.test(tags['rows'] ?? '')) return `expected the tag rows to be a number, got ${shown(tags['rows'])}`;
  if (!/^[0-9a-f]{64}$/.test(tags['sha256'] ?? '')) return `expected the tag sha256, got ${shown(tags['sha256'])}`;
  if (tags['account'] !== account) return `expected the tag account to be ${account}, got ${shown(tags['account'])}`;
  if (stats === undefined) return `expected statistics, got ${shown(add.stats)}`;
  const main = pipelineTable(delta.schema);
  if (main !== undefined && derived === undefined) return `expected the tag derived, got ${shown(tags['derived'])}`;
  if (main?.entries !== undefined && net === undefined) return `expected the tag net, got ${shown(tags['net'])}`;
  if (!file.startsWith(`${table}/account=${account}/month=${month}/`)) {
    return `expected the file in account=${account}/month=${month}`;
  }
  // A file of a table that is never replaced counts once it is committed, without another that names it.
  const isCounted = delta.schema.appendOnly === true && (derived !== undefined || named.has(file));
  return {
    table,
    file,
    slice: loadKeysText(loadKeys),
    delta,
    add,
    pipeline: tags['pipeline'],
    account,
    month,
    loadKeys,
    rows: Number(tags['rows']),
    sha256: tags['sha256'] ?? '',
    net,
    derived: main !== undefined ? derived : isCounted ? [] : undefined,
    stats,
  };
}

function shown(tag: string | undefined): string {
  return tag === undefined ? 'none' : JSON.stringify(tag.slice(0, 60));
}

/** A bundle: files of main tables with the files of derived tables that they name. One slice commits them together. */
export interface CheckedBundle {
  readonly mains: readonly LogFile[];
  readonly derived: readonly LogFile[];
  /** Whether every derived file that a main file names is in the log. */
  readonly isWhole: boolean;
}

/**
 * Groups files by bundle. Checks that main and derived files name each other: a derived file that the log lacks is a
 * problem, and so is one that no main file names. While a run is active, such a file may be its own; a file that a
 * killed run left behind is removed by the next one.
 */
export function checkedBundles(
  files: readonly LogFile[],
  { active, died }: LakeRuns,
  certificate: Certificate,
): CheckedBundle[] {
  const isRunning = active.length > 0;
  const hasDied = (account: string) => died.some(({ purpose }) => (purpose?.account ?? account) === account);
  const derived = new Map(files.filter((file) => file.derived === undefined).map((file) => [file.file, file]));
  const referenced = new Set<string>();
  const bundles: CheckedBundle[] = [];
  for (const mains of sharedBundles(files.filter((file) => file.derived !== undefined))) {
    const members: LogFile[] = [];
    let isWhole = true;
    for (const main of mains) {
      certificate.count('derived-files');
      for (const path of main.derived ?? []) {
        const member = derived.get(path);
        if (member === undefined) {
          isWhole = false;
          const table = pipelineTable(main.delta.schema)?.entries ?? main.table;
          const missing = { table, file: path, slice: main.slice };
          const problem = `${main.file} names it, and its table's log does not`;
          certificate.add('derived-files', isRunning ? 'note' : 'lake', missing, problem);
        } else if (!referenced.has(path)) {
          certificate.count('derived-files');
          members.push(member);
        }
        referenced.add(path);
      }
    }
    bundles.push({ mains, derived: members, isWhole });
  }
  for (const file of derived.values()) {
    if (referenced.has(file.file)) continue;
    certificate.count('derived-files');
    const add = certificate.add.bind(certificate, 'derived-files');
    if (isRunning) add('note', file, 'no slice names it; it may belong to a running run');
    else if (hasDied(file.account))
      add('note', file, 'no slice names it: a run died before it committed the slice; the next run removes it');
    else add('lake', file, 'no slice names it, and readers of Delta tables see it');
  }
  return bundles;
}

/** Puts main files that share a derived file into one bundle, as the files of a batch of orders do. */
function sharedBundles(mains: readonly LogFile[]): LogFile[][] {
  const sets = new Map<LogFile, LogFile[]>();
  const byPath = new Map<string, LogFile>();
  for (const main of mains) {
    let set = [main];
    for (const path of main.derived ?? []) {
      const other = byPath.get(path);
      const others = other === undefined ? undefined : sets.get(other);
      if (others !== undefined && others !== set) {
        set = [...others, ...set];
        for (const member of set) sets.set(member, set);
      }
      byPath.set(path, main);
    }
    for (const member of set) sets.set(member, set);
  }
  return [...new Set(sets.values())];
}
