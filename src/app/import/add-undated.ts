import type { PipelineTables } from '../../core/columns/table.js';
import { count } from '../../core/count.js';
import { literal } from '../../core/duckdb/literals.js';
import { writeNewFile } from '../../core/io/write-file.js';
import { dayMs, overlap, spanOf, type Window } from '../../core/windows.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import { markHandled } from '../../lake/files/workspace.js';
import { importedKey } from '../../lake/loads/imported-spans.js';
import { overNewest } from '../../lake/over-newest.js';
import type { PageSpans } from './chunks/page-spans.js';
import { compareEvents, type StoredEvents } from '../../lake/loads/undated-events.js';
import type { GatheredLines } from './chunks/chunk-lines.js';
import type { ChunkThreads } from './chunks/chunk-threads.js';
import { nthInId, sharedMeanwhile, storedOfMonths } from './month-union.js';
import { newFilesOf, loadKeysOfStaged, rowCounts, stageMonths, type StagedMonth } from './staged-months.js';
import {
  commitImported,
  storedRows,
  withStoredFiles,
  type ImportOptions,
  type StoredReading,
  type StoredRows,
} from './stored-imports.js';
import type { ImportResources } from './event-staging.js';
import type { AddedRows } from './import-summary.js';
import type { UndatedEvents } from './undated-lines.js';

/** The events without a date of an input. */
interface UndatedInput {
  readonly undated: UndatedEvents;
  /** The spans of its pages. */
  readonly spans: PageSpans;
  /** Its events with a date, which the lake has by now. */
  readonly months: readonly StagedMonth[];
  /** Whether the lake, or an input before, had one of these. */
  readonly isShared: boolean;
}

type Resources = ImportResources & StoredReading;

/** An event of an input. */
interface UndatedEvent extends Window {
  readonly input: number;
  readonly number: number;
  /** Which one it is of equal ones of the span, once it is added. */
  nth: number;
}

/**
 * Adds the events without a date of inputs that the lake lacks, in the order of the inputs: see `compareEvents`. An input that has
 * nothing in common with the lake is compared with loaded windows alone: equal fees of two downloads side by side are different ones.
 */
export async function addUndated(
  options: ImportOptions,
  pipeline: PipelineTables,
  resources: Resources,
  inputs: readonly UndatedInput[],
): Promise<AddedRows & { readonly undecided: number }> {
  const extents = inputs.flatMap(({ undated, spans }) =>
    undated.pages.length === 0 ? [] : [extentOf(undated, spans)],
  );
  const none = { rows: { events: 0, entries: 0 }, files: 0, bytes: 0, known: 0, undecided: 0, leftOut: new Map() };
  if (extents.length === 0) return none;
  const range = spanOf(extents);
  const alone = inputs.flatMap(({ months, isShared }, input) =>
    isShared ? [] : months.map((month) => ({ ...month, input })),
  );
  const choose = (snapshot: Snapshot) =>
    [
      storedRows(snapshot, options.account, pipeline, (window) => overlap(window, range)),
      storedOfMonths(snapshot, options.account, pipeline, alone),
    ] as const;
  return overNewest(options.lake, choose, async (over) => {
    const [stored, ofMonths] = over;
    options.signal.throwIfAborted();
    const since = await sharedMeanwhile(options, resources, ofMonths, alone);
    const isShared = (input: number) => inputs[input]?.isShared === true || since.has(input);
    const equal = await storedEvents(options, resources, stored, inputs);
    const compared = compareInputs(inputs, isShared, stored, equal);
    const { known, undecided, leftOut } = compared;
    if (compared.added.length === 0) return { ...none, known, undecided, leftOut };
    await skipPositions(options, resources, stored, compared.added);
    const staged = await encodeEvents(options, pipeline, resources, inputs, compared.added);
    const files = await newFilesOf(options, pipeline, staged);
    const written = await commitImported(options, pipeline, { files, loadKeys: loadKeysOfStaged(staged), over });
    return { rows: rowCounts(staged), ...written, known, undecided, leftOut };
  });
}

function extentOf({ pages }: UndatedEvents, { starts, ends }: PageSpans): Window {
  let [start, end] = [Infinity, -Infinity];
  for (const page of pages) {
    start = Math.min(start, starts[page] ?? Infinity);
    end = Math.max(end, ends[page] ?? -Infinity);
  }
  return { start, end };
}

/** Equal events of the lake, and of the imported ones the last `nth` by load key. */
interface EqualEvents extends StoredEvents {
  readonly loaded: Window[];
  readonly imported: Window[];
  readonly lastNth: Map<string, number>;
}

/** The events of the lake that equal some of the inputs', by content hash. */
async function storedEvents(
  options: ImportOptions,
  resources: Resources,
  stored: StoredRows,
  inputs: readonly UndatedInput[],
): Promise<Map<string, EqualEvents>> {
  const found = new Map<string, EqualEvents>();
  const candidates = stored.files.filter(({ statistics }) => statistics.nullCount['posted_at'] !== 0);
  if (candidates.length === 0) return found;
  const { database, newPath } = resources.workspace;
  const contents = newPath();
  await writeNewFile(contents, inputs.flatMap(({ undated }) => undated.contents).join('\n'), { mode: 0o600 });
  const isEqual = `content_hash IN (SELECT content_hash FROM read_csv(${literal(contents)}, header = false, auto_detect = false, columns = {content_hash: 'VARCHAR'}))`;
  const rows = await withStoredFiles(options, resources, candidates, (paths) =>
    database.rows(
      `SELECT content_hash, epoch_ms(window_start) AS start, epoch_ms(window_end) AS "end", count(*) AS times, max(${nthInId}) AS last_nth ` +
        `FROM ${rowsIn(paths)} WHERE posted_at IS NULL AND ${isEqual} GROUP BY ALL ORDER BY ALL`,
    ),
  );
  const loaded = new Set(
    stored.keys.flatMap(({ origin, window }) =>
      origin === 'api' && window !== undefined ? [importedKey(window)] : [],
    ),
  );
  for (const row of rows) {
    const content = String(row['content_hash']);
    const equal = found.get(content) ?? { loaded: [], imported: [], lastNth: new Map<string, number>() };
    found.set(content, equal);
    const span = { start: Number(row['start']), end: Number(row['end']) };
    const isLoaded = loaded.has(importedKey(span));
    const list = isLoaded ? equal.loaded : equal.imported;
    // An object for each: each can be paired once.
    for (let time = 0; time < Number(row['times']); time++) list.push({ ...span });
    if (!isLoaded) equal.lastNth.set(importedKey(span), Number(row['last_nth']));
  }
  return found;
}

function compareInputs(
  inputs: readonly UndatedInput[],
  isShared: (input: number) => boolean,
  { loaded }: StoredRows,
  equal: Map<string, EqualEvents>,
) {
  const added: UndatedEvent[] = [];
  const leftOut = new Map<number, number>();
  let [known, undecided] = [0, 0];
  for (const [input, { undated, spans }] of inputs.entries()) {
    const byContent = new Map<string, UndatedEvent[]>();
    for (const [number, content] of undated.contents.entries()) {
      const page = undated.pages[number] ?? 0;
      const event = { input, number, start: spans.starts[page] ?? 0, end: spans.ends[page] ?? 0, nth: 0 };
      const list = byContent.get(content);
      if (list === undefined) byContent.set(content, [event]);
      else list.push(event);
    }
    const ofInput: UndatedEvent[] = [];
    for (const [content, list] of byContent) {
      const stored = equal.get(content) ?? { loaded: [], imported: [], lastNth: new Map<string, number>() };
      const result = compareEvents(list, isShared(input) ? stored : { ...stored, imported: [] }, loaded);
      known += result.known;
      undecided += result.undecided;
      for (const { start } of result.leftOut) count(leftOut, start, 1);
      for (const event of result.added) {
        const key = importedKey(event);
        event.nth = (stored.lastNth.get(key) ?? 0) + 1;
        stored.lastNth.set(key, event.nth);
        stored.imported.push(event);
        ofInput.push(event);
      }
      if (result.added.length > 0) equal.set(content, stored);
    }
    added.push(...ofInput.toSorted((a, b) => a.number - b.number));
  }
  return { added, known, undecided, leftOut };
}

/** Skips the stored positions of spans of several days; those of days are skipped already. */
async function skipPositions(
  options: ImportOptions,
  resources: Resources,
  stored: StoredRows,
  added: readonly UndatedEvent[],
): Promise<void> {
  const needed = new Set(added.filter(({ start, end }) => end - start > dayMs).map(importedKey));
  const files = stored.files.filter(({ loadKeys }) => loadKeys.some((key) => needed.has(key)));
  if (files.length === 0) return;
  const rows = await withStoredFiles(options, resources, files, (paths) =>
    resources.workspace.database.rows(
      `SELECT epoch_ms(window_start) AS start, epoch_ms(window_end) AS "end", max(position) + 1 AS next FROM ${rowsIn(paths)} GROUP BY ALL`,
    ),
  );
  for (const { start, end, next } of rows) {
    const span = { start: Number(start), end: Number(end) };
    if (needed.has(importedKey(span))) resources.positions.skip(span, Number(next));
  }
}

/** Flattens and encodes events once their spans are known. */
async function encodeEvents(
  { account, limits, signal }: ImportOptions,
  pipeline: PipelineTables,
  { workspace, threads, positions }: Resources,
  inputs: readonly UndatedInput[],
  added: readonly UndatedEvent[],
): Promise<StagedMonth[]> {
  const staged: Promise<StagedMonth[]>[] = [];
  let turn: Promise<unknown> = Promise.resolve();
  const handOut = async (chunk: UndatedChunk): Promise<void> => {
    await threads.vacancy();
    signal.throwIfAborted();
    const task = threads.nextTask();
    const flattened = markHandled(task.flatten(chunk.gathered.lines, chunk.spans));
    const before = turn;
    const encoded = (async () => {
      const { flat } = await flattened;
      await before;
      if (flat?.starts.length !== chunk.events.length) throw new Error('expected an event for each line');
      const nth = Int32Array.from(chunk.events, (event) => event.nth);
      return { encoding: stageMonths(task, { ...flat, nth }, { pipeline, account, positions, workspace }) };
    })();
    turn = markHandled(encoded);
    const done = markHandled(encoded.then(({ encoding }) => encoding));
    staged.push(done);
    threads.occupy(
      done.then(
        () => undefined,
        () => undefined,
      ),
    );
  };
  let open: UndatedChunk | undefined;
  threads.expect(inputs.reduce((sum, { undated }) => sum + undated.bytes, 0));
  try {
    for (const [number, { undated, spans }] of inputs.entries()) {
      const byNumber = new Map(added.flatMap((event) => (event.input === number ? [[event.number, event]] : [])));
      for await (const line of undated.lines([...byNumber.keys()])) {
        const event = byNumber.get(line.number);
        if (event === undefined) continue;
        if (open?.gathered.hasRoom(line.bytes.length) === false) {
          await handOut(open);
          open = undefined;
        }
        open ??= new UndatedChunk(threads, Math.max(limits.chunkBytes, line.bytes.length));
        open.add(event, line.bytes, spans.instants[undated.pages[line.number] ?? 0] ?? 0n);
      }
    }
    if (open !== undefined) await handOut(open);
    return (await Promise.all(staged)).flat();
  } finally {
    // They write to the workspace.
    await Promise.allSettled(staged);
  }
}

/** Lines that are gathered for one chunk, with their events. */
class UndatedChunk {
  readonly events: UndatedEvent[] = [];
  readonly gathered: GatheredLines;
  readonly #instants: bigint[] = [];

  constructor(threads: ChunkThreads, bytes: number) {
    this.gathered = threads.gather(bytes);
  }

  add(event: UndatedEvent, line: Uint8Array, instant: bigint): void {
    this.gathered.add(line);
    this.events.push(event);
    this.#instants.push(instant);
  }

  get spans(): PageSpans {
    return {
      starts: Float64Array.from(this.events, ({ start }) => start),
      ends: Float64Array.from(this.events, ({ end }) => end),
      instants: BigInt64Array.from(this.#instants),
    };
  }
}
