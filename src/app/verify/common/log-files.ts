import { ifReadable, shownText, type DataFile } from '../../../lake/delta/data-file.js';
import { z } from 'zod';
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
  readonly add: DataFile;
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
/** The statistics, in the JSON form of the Delta protocol. */
const statistics = z.object({
  numRecords: z.number(),
  minValues: record.catch({}),
  maxValues: record.catch({}),
  nullCount: record.catch({}),
});

export const logTagsCheck: CheckDefinition = {
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
      if (account !== undefined && add.account !== account) continue;
      certificate.count(logTagsCheck);
      const file = readFile(delta, add);
      if (typeof file !== 'string') files.push(file);
      else {
        const owner = { table: delta.schema.name, account: add.account };
        damaged.push({ ...owner, loadKeys: undefined });
        const slice = add.loadKeysTag;
        certificate.add(logTagsCheck, 'lake', { table: delta.schema.name, file: delta.pathOf(add), slice }, file);
      }
    }
  }
  return { files, damaged };
}

/** Returns the file with the content of its tags, or what is wrong with them. */
function readFile(delta: LakeTable, add: DataFile): LogFile | string {
  const table = delta.schema.name;
  const file = delta.pathOf(add);
  const { tagFault, pipeline, account, month, rows, sha256 = '', main } = add;
  if (tagFault !== undefined) return tagFault;
  const { loadKeys } = add;
  const stats = parseNote(add.stats, (value) => statistics.parse(value));
  if (stats === undefined) return `expected statistics, got ${shownText(add.stats)}`;
  const isMain = loadKeyKindOf(delta.schema) !== undefined;
  if (isMain && main !== undefined) return `expected no tag main, got ${shownText(main)}`;
  if (!file.startsWith(`${table}/account=${account}/month=${month}/`)) {
    return `expected the file in account=${account}/month=${month}`;
  }
  const net = ifReadable(() => add.net);
  return {
    ...{ table, file, slice: loadKeysText(loadKeys), delta, add, pipeline, account, month, loadKeys, rows, sha256 },
    ...{ net, main, stats },
  };
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
