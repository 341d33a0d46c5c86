import type { EncodedFile } from '../../core/parquet/encode-file.js';
import type { Family, Table } from '../../core/columns/table.js';
import type { Window } from '../../core/windows.js';
import { contentOf } from '../../lake/delta/file-tags.js';
import type { NewFile } from '../../lake/commit-files.js';
import type { LocalParquet } from '../../lake/files/local-parquet.js';
import { imported, metadataOf, newFile } from '../../lake/files/new-file.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { importedKey } from '../../lake/loads/imported-spans.js';
import { entries, events } from '../../sources/finances/model/tables.js';
import type { FlatEvents } from './chunk.js';
import type { ChunkTask } from './chunk-threads.js';
import type { ImportTarget } from './stored-imports.js';

/** A month of a chunk as files on the local disk. */
export interface StagedMonth {
  readonly month: string;
  /** The spans of its events, once each. */
  readonly spans: readonly Window[];
  readonly events: LocalParquet;
  /** Undefined where no event has an amount. */
  readonly entries: LocalParquet | undefined;
  /** Net sums by currency, as JSON for the log. */
  readonly net: string;
}

/** The positions of events in their spans: no two events of a span have the same one. */
export class Positions {
  readonly #next = new Map<string, number>();

  /** The next position of a span. */
  take(span: Window): number {
    const key = importedKey(span);
    const next = this.#next.get(key) ?? 0;
    this.#next.set(key, next + 1);
    return next;
  }

  /** Skips positions of a span, which the lake has. */
  skip(span: Window, count: number): void {
    const key = importedKey(span);
    this.#next.set(key, count + (this.#next.get(key) ?? 0));
  }
}

interface Staging {
  readonly family: Family;
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
  { starts, ends, times, months }: FlatEvents,
  { family, account, positions, workspace }: Staging,
): Promise<StagedMonth[]> {
  const taken = new Int32Array(starts.length);
  const placed = months.map(({ month, rows }) => {
    const spans = new Map<number, Map<number, Window>>();
    for (const row of rows) {
      const [start = 0, end = 0] = [starts[row], ends[row]];
      const ofStart = spans.get(start) ?? new Map<number, Window>();
      spans.set(start, ofStart);
      const span = ofStart.get(end) ?? { start, end };
      ofStart.set(end, span);
      taken[row] = positions.take(span);
    }
    const all = [...spans.values()].flatMap((ofStart) => [...ofStart.values()]);
    return {
      month,
      rows,
      spans: all,
      metadata: metadataOf({ family, account, month, loadKeys: all.map(importedKey) }),
    };
  });
  const encoded = await task.encode({ times, positions: taken, months: placed });
  const staged: StagedMonth[] = [];
  for (const [at, { month, spans }] of placed.entries()) {
    const files = encoded[at];
    if (files === undefined) throw new Error(`expected the files of ${month}, got none`);
    staged.push({
      ...{ month, spans, net: files.net },
      events: await localFile(workspace, files.events),
      entries: files.entries && (await localFile(workspace, files.entries)),
    });
  }
  return staged;
}

async function localFile({ writeLocal }: Workspace, { bytes, rows, stats }: EncodedFile): Promise<LocalParquet> {
  return { path: await writeLocal(bytes), rows, stats, content: contentOf(bytes) };
}

/** Staged months as new files of the lake. */
export async function newFilesOf(
  { account, clock }: ImportTarget,
  family: Family,
  staged: readonly StagedMonth[],
): Promise<NewFile[]> {
  const now = clock.now();
  const files: NewFile[] = [];
  for (const { month, spans, events: main, entries: derived, net } of staged) {
    const target = { family, account, month, loadKeys: spans.map(importedKey).toSorted() };
    const tags = { pipeline: family.pipeline, account, net };
    const file = async (table: Table, local: LocalParquet) => {
      files.push({ ...(await newFile(table, target, local, tags, now, imported)), bundle: main.path });
    };
    if (derived !== undefined) await file(entries, derived);
    await file(events, main);
  }
  return files;
}

/** The load keys of staged months. */
export function loadKeysOfStaged(staged: readonly StagedMonth[]): string[] {
  return [...new Set(staged.flatMap(({ spans }) => spans.map(importedKey)))].toSorted();
}
