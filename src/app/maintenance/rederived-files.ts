import type { Table } from '../../core/columns/table.js';
import { RowSums } from '../../core/columns/row-sums.js';
import type { Add } from '../../lake/delta/actions.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';
import type { ParquetSource } from '../../core/parquet/wasm.js';
import { keyValueMetadata } from '../../core/parquet/wasm.js';
import type { SizedWriter } from '../../core/parquet/thread.js';
import { fileMetadata, addNets, type NetSums } from '../../lake/files/new-file.js';
import { rederivedEntries } from './rederived-entries.js';
import { handled, keptFile, type Workspace } from '../../lake/files/workspace.js';
import { bytesOf, rowsIn, type LocalParquet } from '../../lake/files/local-parquet.js';
import { sortedFile } from '../../lake/files/sorted-file.js';
import { loadKeysLabel } from '../../lake/files/load-key-rows.js';

/** About how many bytes of pages a file of events stands for. */
export function pageBytes({ size }: Add): number {
  return size * 4;
}

/** The entries of one file of events, derived again, as local files. */
export interface RederivedFiles {
  readonly events: number;
  readonly rows: number;
  readonly net: NetSums;
  /** What the rows come to. */
  readonly sums: RowSums;
  /** All of it as one Parquet file; undefined where there is no row. */
  bytes(): Promise<Uint8Array | undefined>;
  /** Its statistics in Delta's JSON form. */
  stats(): Promise<string>;
}

/** Entries on their way: all of them are derived, some of their files may not be written yet. */
export interface Rederiving {
  /** Never unhandled where nobody waits for it any more. */
  readonly files: Promise<RederivedFiles>;
}

/**
 * Derives the entries of a file of events again, whose commit is `main`: in batches, so that memory doesn't grow with the file.
 * Comes back once the writer has all of their rows.
 *
 * @throws Error where the bytes are no Parquet file of events, what the writer throws, or the signal's reason
 */
export async function rederive(
  workspace: Workspace,
  writer: SizedWriter,
  table: Table,
  main: Add,
  file: ParquetSource,
  signal: AbortSignal,
): Promise<Rederiving> {
  const metadata = await metadataLike(main, file);
  const files: Promise<LocalParquet>[] = [];
  const nets: NetSums[] = [];
  const sums = new RowSums(table);
  let events = 0;
  const { rawBytes } = workspace.limits;
  // Several are in memory at once: what doesn't fit into one goes in smaller ones.
  const batchBytes = pageBytes(main) > rawBytes ? Math.ceil(rawBytes / 3) : rawBytes;
  for await (const batch of rederivedEntries(table, file, batchBytes, writer.memory)) {
    signal.throwIfAborted();
    events += batch.events;
    nets.push(batch.net);
    if (batch.rows.numRows === 0) continue;
    sums.add(batch.rows);
    const taken = await writer.take(table, batch.rows, metadata);
    files.push(keptFile(taken, workspace.keep));
  }
  return { files: handled(filesOf(workspace, table, metadata, { files, events, net: addNets(nets), sums }, signal)) };
}

interface Handed extends Pick<RederivedFiles, 'events' | 'net' | 'sums'> {
  readonly files: readonly Promise<LocalParquet>[];
}

async function filesOf(
  workspace: Workspace,
  table: Table,
  metadata: ReadonlyMap<string, string>,
  { files, events, net, sums }: Handed,
  signal: AbortSignal,
): Promise<RederivedFiles> {
  const locals = await Promise.all(files);
  const paths = locals.map(({ path }) => path);
  const [single] = locals.length === 1 ? locals : [];
  let joined: Promise<LocalParquet> | undefined;
  const join = () =>
    (joined ??= sortedFile(
      workspace,
      table,
      {
        paths,
        metadata,
        select: (range) => `SELECT * FROM ${rowsIn(paths)} WHERE ${range}`,
      },
      { signal },
    ));
  return {
    events,
    rows: locals.reduce((sum, { rows }) => sum + rows, 0),
    net,
    sums,
    bytes: async () => {
      if (single !== undefined) return bytesOf(single);
      return paths.length === 0 ? undefined : bytesOf(await join());
    },
    stats: async () => (single ?? (await join())).stats,
  };
}

/** The metadata that the file's own slice gave it, by this version of the program. */
async function metadataLike(main: Add, file: ParquetSource): Promise<ReadonlyMap<string, string>> {
  const told: unknown = JSON.parse((await keyValueMetadata(file)).get('ledgerlake') ?? '{}');
  const { window = loadKeysLabel(loadKeysOf(main)) } = told as { window?: string };
  return fileMetadata(main.tags?.['pipeline'] ?? '', main.tags?.['account'] ?? '', window);
}
