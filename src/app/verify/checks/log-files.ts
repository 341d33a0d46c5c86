import { z } from 'zod';
import type { Add } from '../../../lake/delta/actions.js';
import type { LakeTable } from '../../../lake/lake-table.js';
import { loadKeysText } from '../../../lake/files/load-key-rows.js';
import type { Lake } from '../../../lake/lake.js';
import { parseNote } from '../../../lake/store/store.js';
import { groupBy } from '../../../core/group-by.js';
import type { UnreadableFile } from '../../settlements/settlements.js';
import type { CertificateBuilder, CheckDefinition, ProblemLocation } from './certificate.js';
import { loadKeyKindOf } from '../../coverage/stored-pipelines.js';

/** A file that the log names, with the tags and counts of its `add` action. */
export interface LogFile extends ProblemLocation {
  readonly delta: LakeTable;
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
  /** The main file whose rows a derived file's are derived from, within the lake; undefined for a main file. */
  readonly main: string | undefined;
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

export const logTags: CheckDefinition = {
  name: 'log-tags',
  about: 'the log describes each file',
  counts: 'files',
  takenOut: 'file',
};

/**
 * The files of every table as the log names them. `damaged` are those whose tags can't be
 * understood; such a file is left out, and is a problem.
 */
export function logFiles(
  lake: Lake,
  account: string | undefined,
  certificate: CertificateBuilder,
): { readonly files: readonly LogFile[]; readonly damaged: readonly UnreadableFile[] } {
  const files: LogFile[] = [];
  const damaged: UnreadableFile[] = [];
  for (const delta of lake.tables) {
    for (const add of delta.snapshot.files()) {
      if (account !== undefined && add.partitionValues['account'] !== account) continue;
      certificate.count(logTags);
      const file = readFile(delta, add);
      if (typeof file !== 'string') files.push(file);
      else {
        const owner = { table: delta.schema.name, account: add.partitionValues['account'] ?? '' };
        damaged.push({ ...owner, loadKeys: undefined });
        const slice = add.tags?.['loadKeys'] ?? '';
        certificate.add(logTags, 'lake', { table: delta.schema.name, file: delta.pathOf(add), slice }, file);
      }
    }
  }
  return { files, damaged };
}

/** Returns the file with the content of its tags, or what is wrong with them. */
function readFile(delta: LakeTable, add: Add): LogFile | string {
  const { tags } = add;
  const table = delta.schema.name;
  const file = delta.pathOf(add);
  if (tags?.['pipeline'] === undefined) return 'the file has none of the tags of ledgerlake: another program added it';
  const loadKeys = parsed(strings, tags['loadKeys']);
  const net = parsed(netSums, tags['net']);
  const stats = parsed(statistics, add.stats);
  const { account = '', month = '' } = add.partitionValues as Readonly<Record<string, string | undefined>>;
  if (loadKeys === undefined || loadKeys.length === 0)
    return `expected the tag loadKeys to be a list, got ${shown(tags['loadKeys'])}`;
  if (!/^\d+$/.test(tags['rows'] ?? '')) return `expected the tag rows to be a number, got ${shown(tags['rows'])}`;
  if (!/^[0-9a-f]{64}$/.test(tags['sha256'] ?? '')) return `expected the tag sha256, got ${shown(tags['sha256'])}`;
  if (tags['account'] !== account) return `expected the tag account to be ${account}, got ${shown(tags['account'])}`;
  if (stats === undefined) return `expected statistics, got ${shown(add.stats)}`;
  const isMain = loadKeyKindOf(delta.schema) !== undefined;
  if (isMain && tags['main'] !== undefined) return `expected no tag main, got ${shown(tags['main'])}`;
  if (!file.startsWith(`${table}/account=${account}/month=${month}/`)) {
    return `expected the file in account=${account}/month=${month}`;
  }
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
    main: tags['main'],
    stats,
  };
}

function shown(tag: string | undefined): string {
  return tag === undefined ? 'none' : JSON.stringify(tag.slice(0, 60));
}

/** A main file with the files whose rows are derived from its rows. One slice commits them together. */
export interface CheckedBundle {
  readonly main: LogFile;
  readonly derived: readonly LogFile[];
}

/** Groups files by bundle. A derived file whose main file the catalog lacks is in none. */
export function checkedBundles(files: readonly LogFile[]): CheckedBundle[] {
  const byMain = groupBy(files, ({ main }) => main);
  return (byMain.get(undefined) ?? []).map((main) => ({ main, derived: byMain.get(main.file) ?? [] }));
}
