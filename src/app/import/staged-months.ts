import { metadataOf, nameOf, newFile } from '../../lake/files/new-file.js';
import type { NetSums } from '../../lake/delta/data-file.js';
import type { EncodedFile } from '../../core/parquet/encode-file.js';
import type { PipelineTables } from '../../core/columns/table.js';
import type { Window } from '../../core/windows.js';
import type { NewFile } from '../../lake/commit-files.js';
import type { LocalParquet } from '../../lake/files/local-parquet.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { importedKey } from '../../lake/loads/imported-spans.js';
import { entries, events } from '../../sources/finances/api-v0/event-tables.js';
import type { FlatEvents, FlatMonth } from './chunks/chunk-flattener.js';
import type { ChunkTask } from './chunks/chunk-threads.js';
import type { ImportTarget } from './stored-imports.js';

/** A month of a chunk as files on the local disk. Of events that were left out afterwards it has the fingerprints still. */
export interface StagedMonth extends Pick<FlatMonth, 'fingerprints'> {
  readonly month: string;
  /** The spans of its events, once each. */
  readonly spans: readonly Window[];
  readonly events: LocalParquet;
  /** Undefined where no event has an amount. */
  readonly entries: LocalParquet | undefined;
  /** Net sums by currency, as JSON for the log. */
  readonly net: NetSums;
}

/** The positions of events in their spans: no two events of a span have the same one. */
export class Positions {
  readonly #next = new Map<string, number>();

  /** The next position of a span. */
  next(span: Window): number {
    return this.#next.get(importedKey(span)) ?? 0;
  }

  /** Skips so many positions of a span. */
  skip(span: Window, count: number): void {
    this.#next.set(importedKey(span), this.next(span) + count);
  }
}

interface Staging {
  readonly pipeline: PipelineTables;
  readonly account: string;
  readonly positions: Positions;
  readonly workspace: Workspace;
}

/**
 * Encodes the events of a flattened chunk into files on the local disk, one for each month and table. The positions are taken before
 * the first promise.
 */
export async function stageMonths(
  task: ChunkTask,
  { starts, ends, nth, months }: FlatEvents,
  { pipeline, account, positions, workspace }: Staging,
): Promise<StagedMonth[]> {
  const taken = new Int32Array(starts.length);
  const placed = months.map(({ month, rows }) => {
    const found = new Map<number, Map<number, { readonly span: Window; readonly first: number; events: number }>>();
    for (const row of rows) {
      const [start = 0, end = 0] = [starts[row], ends[row]];
      const ofStart = found.get(start) ?? new Map<number, { span: Window; first: number; events: number }>();
      found.set(start, ofStart);
      const one = ofStart.get(end) ?? { span: { start, end }, first: positions.next({ start, end }), events: 0 };
      ofStart.set(end, one);
      taken[row] = one.first + one.events++;
    }
    const all = [...found.values()].flatMap((ofStart) => [...ofStart.values()]);
    for (const { span, events: count } of all) positions.skip(span, count);
    const spans = all.map(({ span }) => span);
    return { month, rows, spans, metadata: metadataOf(pipeline.name, { account, loadKeys: spans.map(importedKey) }) };
  });
  const encoded = await task.encode({ nth, positions: taken, months: placed });
  const staged: StagedMonth[] = [];
  for (const [at, { month, spans }] of placed.entries()) {
    const files = encoded[at];
    const fingerprints = months[at]?.fingerprints;
    if (files === undefined || fingerprints === undefined) throw new Error(`expected the files of ${month}, got none`);
    staged.push({
      month,
      spans,
      net: files.net,
      fingerprints,
      events: await stagedFile(workspace, files.events),
      entries: files.entries && (await stagedFile(workspace, files.entries)),
    });
  }
  return staged;
}

async function stagedFile({ writeLocal }: Workspace, { bytes, ...about }: EncodedFile): Promise<LocalParquet> {
  return { path: await writeLocal(bytes), ...about };
}

/** Staged months as new files of the lake. */
export async function newFilesOf(
  { account }: ImportTarget,
  pipeline: PipelineTables,
  staged: readonly StagedMonth[],
): Promise<NewFile[]> {
  const files: NewFile[] = [];
  for (const { month, spans, events: main, entries: derived, net } of staged) {
    const loadKeys = spans.map(importedKey).toSorted();
    const shared = { pipeline: pipeline.name, account };
    const name = nameOf('import', { loadKeys, month });
    const about = { account, month, name, loadKeys, shared, net, dataChange: true, bundle: main.path };
    if (derived !== undefined) files.push(await newFile(derived, { table: entries, ...about }));
    files.push(await newFile(main, { table: events, ...about }));
  }
  return files;
}

/** The rows of staged months, by table. */
export function rowCounts(staged: readonly StagedMonth[]): Record<string, number> {
  return {
    events: staged.reduce((sum, { events: { rows } }) => sum + rows, 0),
    entries: staged.reduce((sum, { entries: { rows } = { rows: 0 } }) => sum + rows, 0),
  };
}

/** The load keys of staged months. */
export function loadKeysOfStaged(staged: readonly StagedMonth[]): string[] {
  return [...new Set(staged.flatMap(({ spans }) => spans.map(importedKey)))].toSorted();
}
