import { basename } from 'node:path';
import { roles } from '../../../pipelines/all-pipelines.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { TextHole } from '../../core/json/tape.js';
import type { Emit } from '../../core/events/run-event.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { overNewest } from '../../lake/over-newest.js';
import { withCheckedFiles } from '../../lake/files/month-files.js';
import { markHandled, subWorkspace, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { scanPage } from '../../sources/finances/api-v0/finances-page.js';
import { countWarning, newWarnings } from '../../sources/finances/model/slice-rows.js';
import { addGroups, type DayGroups, GroupList } from './add-groups.js';
import { addUndated } from './add-undated.js';
import type { GroupsBody } from './chunks/chunk-flattener.js';
import { compare } from '../../core/compare.js';
import { groupBy } from '../../core/group-by.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import type { ChunkThreads } from './chunks/chunk-threads.js';
import { EventStaging, type ImportResources, type StagedEvents } from './event-staging.js';
import type { AddedRows, ImportSummaries, ImportSummary } from './import-summary.js';
import { storedOfMonths, uniteMonth, type InputMonth } from './month-union.js';
import { newFilesOf, loadKeysOfStaged, Positions, rowCounts } from './staged-months.js';
import { commitHoles, commitImported, type ImportOptions, type StoredReading } from './stored-imports.js';
import type { Input } from './input-bytes.js';
import { brokenLine, savedLines } from './saved-pages.js';
import { addSettlements, isReportLine, ReportBytes, type SettlementDocument } from './settlement-document.js';
import type { ReportEncoding } from '../../sources/finances/settlement-reports/report-encodings.js';

/** The pages of events are those of the oldest API. */
const { events } = roles;

/** Bytes of the inputs that are committed together. */
const batchBytes = 1_000_000_000;
/** How often the bytes of a settlement report count. */
const reportWeight = 10;

/** An input whose events are on the local disk, and whose groups are in memory. */
interface ReadInput extends StagedEvents {
  /** Its name without folders. */
  readonly file: string;
  readonly staging: EventStaging;
  readonly list: GroupList;
  readonly groups: DayGroups;
  readonly eventPages: number;
  readonly groupPages: number;
  /** Broken lines that were skipped. */
  readonly skipped: number;
  /** Undefined for an input of saved pages. */
  readonly report: SettlementDocument | undefined;
}

/**
 * Loads saved pages into a lake. Inputs are read to their end, with their rows staged on the local disk, before anything of them is
 * committed: month by month, and events without a date at the end. An input with broken lines is left out.
 *
 * @returns the failures of inputs that were left out, by name
 * @throws LedgerlakeError as the lake does, or the signal's reason; earlier commits stay, and importing the same inputs again
 *   continues from there
 */
export async function importInputs(
  inputs: readonly Input[],
  threads: ChunkThreads,
  options: ImportOptions,
  summaries: ImportSummaries,
): Promise<ReadonlyMap<string, LedgerlakeError>> {
  tuneForComputation();
  options.emit({ event: 'inputs-planned', inputs: inputs.length, bytes: totalBytes(inputs) });
  const failures = new Map<string, LedgerlakeError>();
  const secondsPassed = stopwatch(options.clock);
  await withWorkspace(options.limits, options.lake.store, async (workspace) => {
    let batch = new InputBatch(workspace, threads, options);
    try {
      for (const [at, input] of inputs.entries()) {
        const goesOn = await batch.read(input);
        if (goesOn && batch.bytes < batchBytes && at + 1 < inputs.length) continue;
        await batch.commit(summaries, failures, secondsPassed);
        batch = new InputBatch(workspace, threads, options);
        threads.expect(inputs.slice(at + 1).reduce((sum, { bytes = 0 }) => sum + bytes, 0));
      }
    } finally {
      await batch.close();
      await threads.close();
    }
  });
  return failures;
}

/** Null where the size of an input is unknown. */
function totalBytes(inputs: readonly Input[]): number | null {
  return inputs.reduce<number | null>(
    (sum, { bytes }) => (sum === null || bytes === undefined ? null : sum + bytes),
    0,
  );
}

/** Inputs that are committed together. */
class InputBatch {
  /** Of the inputs so far. Settlement reports, which are kept in memory, count several times. */
  bytes = 0;
  readonly #options: ImportOptions;
  readonly #resources: ImportResources;
  readonly #read: {
    readonly input: Input;
    readonly staging: EventStaging;
    readonly result: Promise<ReadInput | LeftOut>;
  }[] = [];
  #hasFailed = false;

  constructor(workspace: Workspace, threads: ChunkThreads, options: ImportOptions) {
    this.#options = options;
    this.#resources = { workspace: subWorkspace(workspace), threads, positions: new Positions() };
  }

  /** Hands the lines of an input out. False where the import has failed, so that no further input is to be read. */
  async read(input: Input): Promise<boolean> {
    const turn = this.#read.at(-1)?.staging.turn ?? Promise.resolve();
    const handedOut = await handOutLines(input, this.#options, this.#resources, turn);
    this.bytes += handedOut.bytes * (handedOut.report === undefined ? 1 : reportWeight);
    const result = markHandled(finishReading(handedOut, this.#options.encoding));
    result.catch(() => {
      this.#hasFailed = true;
    });
    this.#read.push({ input, staging: handedOut.staging, result });
    return !this.#hasFailed && (handedOut.failure === undefined || isBrokenLine(handedOut.failure.reason));
  }

  /** Commits all inputs that were read. Adds those that are left out to `failures`. */
  async commit(
    summaries: ImportSummaries,
    failures: Map<string, LedgerlakeError>,
    secondsPassed: () => number,
  ): Promise<void> {
    const read: ReadInput[] = [];
    const ended: { readonly input: Input; readonly failure: LedgerlakeError | undefined }[] = [];
    let failed: { readonly reason: unknown } | undefined;
    for (const { input, result } of this.#read) {
      const one = await result.catch((reason: unknown) => {
        failed ??= { reason };
      });
      // What comes before the failure is committed.
      if (one === undefined) break;
      if ('failure' in one) {
        failures.set(input.name, one.failure);
        if (one.dateless > 0) summaries.of(events.name, newWarnings()).dateless += one.dateless;
      } else read.push(one);
      ended.push({ input, failure: 'failure' in one ? one.failure : undefined });
    }
    // DuckDB needs the memory of the threads.
    await this.#resources.threads.close();
    await this.#commitEvents(read, summaries, secondsPassed);
    for (const { list, groups, groupPages } of read) {
      const summary = summaries.of(roles.settlements.name, list.warnings);
      summary.pages += groupPages;
      await commitGroups(groups.rows, this.#options, this.#resources, summary);
      summary.seconds += secondsPassed();
    }
    await commitHoles(this.#options, events, read);
    await commitHoles(
      this.#options,
      roles.settlements,
      read.map(({ file, groups }) => ({ file, holes: groups.holes })),
    );
    for (const { report } of read) {
      if (report === undefined) continue;
      await addSettlements(this.#options, this.#resources.workspace, report, summaries);
      summaries.of(roles.reports.name, {}).seconds += secondsPassed();
    }
    for (const { input, failure } of ended) {
      const status = failure === undefined ? 'imported' : 'left-out';
      this.#options.emit({ event: 'input-ended', input: input.name, status, reason: failure?.message ?? null });
    }
    if (failed !== undefined) throw failed.reason;
    await this.close();
  }

  async #commitEvents(
    read: readonly ReadInput[],
    summaries: ImportSummaries,
    secondsPassed: () => number,
  ): Promise<void> {
    const { emit } = this.#options;
    const [first] = read;
    if (first === undefined) return;
    const summary = summaries.of(events.name, newWarnings());
    for (const { staging, eventPages, skipped } of read) {
      summaries.of(events.name, staging.warnings).pages += eventPages;
      summaries.skippedLines += skipped;
    }
    const shared = new Set<number>();
    const months = read.flatMap((input, number) => input.months.map((month) => ({ ...month, input: number })));
    for (const [, staged] of [...groupBy(months, ({ month }) => month)].toSorted(([a], [b]) => compare(a, b))) {
      const added = await this.#commitMonth(staged, shared);
      noteAdded(summary, added, emit);
      summary.extendRange(
        staged.flatMap(({ spans }) => spans.map(({ start }) => start)).filter((day) => !added.leftOut.has(day)),
      );
    }
    const undated = read.flatMap(({ staging, spans, months: own }, number) =>
      spans === undefined ? [] : [{ undated: staging.undated, spans, months: own, isShared: shared.has(number) }],
    );
    const added = await this.#withFiles((resources) => addUndated(this.#options, events, resources, undated));
    noteAdded(summary, added, emit);
    summaries.undecided += added.undecided;
    summary.seconds += secondsPassed();
  }

  /** @param shared gets the inputs that have an event in common with the lake or with an input before */
  #commitMonth(staged: readonly InputMonth[], shared: Set<number>): Promise<AddedRows> {
    const { lake, account, signal } = this.#options;
    const choose = (snapshot: Snapshot) => [storedOfMonths(snapshot, account, events, staged)] as const;
    return overNewest(lake, choose, async (over) => {
      signal.throwIfAborted();
      return this.#withFiles(async (resources) => {
        const union = await uniteMonth(this.#options, events, resources, over[0], staged);
        for (const input of union.shared) shared.add(input);
        const { known, leftOut, added } = union;
        const rows = rowCounts(added);
        if (added.length === 0) return { rows, files: 0, bytes: 0, known, leftOut };
        const files = await newFilesOf(this.#options, events, added);
        const loads = { over, files, loadKeys: loadKeysOfStaged(added) };
        return { rows, ...(await commitImported(this.#options, events, loads)), known, leftOut };
      });
    });
  }

  /** Calls `use` with the files of the lake that it reads. */
  #withFiles<T>(use: (resources: ImportResources & StoredReading) => Promise<T>): Promise<T> {
    const { workspace } = this.#resources;
    return withCheckedFiles(this.#options.lake.store, workspace, (files) => use({ ...this.#resources, files }));
  }

  /** Waits for all pending steps, which write to the workspace, and removes the files. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#read.map(({ result }) => result));
    await Promise.all(this.#read.map(({ staging }) => staging.settled()));
    await this.#resources.workspace.clear();
  }
}

/** An input that is left out. */
interface LeftOut {
  readonly failure: LedgerlakeError;
  /** The number of its events, where none has a date. */
  readonly dateless: number;
}

/** An input whose lines are handed out, up to its end or to a failure. */
interface HandedOutInput {
  readonly file: string;
  readonly staging: EventStaging;
  readonly list: GroupList;
  readonly counts: { eventPages: number; groupPages: number; skipped: number };
  readonly report: ReportBytes | undefined;
  readonly bytes: number;
  /** Counts a broken line. Throws LedgerlakeError BROKEN_LINE where broken lines aren't skipped. */
  readonly broken: (line: number, found: string) => void;
  /** Why it wasn't read to its end: LedgerlakeError BROKEN_LINE, what a thread throws, or the signal's reason. */
  readonly failure: { readonly reason: unknown } | undefined;
}

/** The failure of an input that is left out; after any other failure no further input is read. */
function isBrokenLine(error: unknown): error is LedgerlakeError {
  return error instanceof LedgerlakeError && error.code === 'BROKEN_LINE';
}

/** Reads an input, and hands its lines out. Never throws. */
async function handOutLines(
  input: Input,
  options: ImportOptions,
  resources: ImportResources,
  turn: Promise<unknown>,
): Promise<HandedOutInput> {
  const { signal, skipBroken, emit } = options;
  const file = basename(input.name);
  const list = new GroupList();
  const counts = { eventPages: 0, groupPages: 0, skipped: 0 };

  const broken = (line: number, found: string): void => {
    const remedy = 'correct it, or import with --skip-broken, which leaves out only such lines';
    if (!skipBroken) throw brokenLine(input.name, line, `${found}; ${remedy}`);
    counts.skipped++;
    emit({ event: 'line-left-out', reason: brokenLine(input.name, line, found).message });
  };
  const addGroups = (line: number, { body, hasEvents }: GroupsBody): void => {
    try {
      list.add(scanPage(body, { isBare: true }), line);
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code !== 'UPSTREAM_BODY') throw error;
      broken(line, error.message);
      return;
    }
    counts.groupPages++;
    if (hasEvents) counts.eventPages++;
  };
  const hole = (line: number, left: TextHole, page: number): void => {
    const isGroup = left.list === 'FinancialEventGroupList';
    const found = { line, page, hole: { file, line: line - 1, byte: left.start } };
    (isGroup ? list : staging).holes.push(found);
    const place = `${input.name}, line ${line}, ${left.list}, bytes ${left.start} to ${left.end}`;
    countWarning(isGroup ? list.warnings.holes : staging.warnings.holes, place);
    emit({ event: 'hole-left', pipeline: (isGroup ? roles.settlements : events).name, place });
  };
  const listener = { input, broken, hole, addGroups, addEventPage: () => counts.eventPages++ };
  const staging = new EventStaging(options, resources, events, listener, turn);

  let received = 0;
  let report: ReportBytes | undefined;
  let failure: HandedOutInput['failure'];
  try {
    signal.throwIfAborted();
    for await (const line of savedLines(withProgress(input, emit), signal)) {
      const isFirst = received === 0;
      received += line.bytes?.length ?? 0;
      if (isFirst && isReportLine(line)) report = new ReportBytes(input.name);
      if (report !== undefined) {
        report.add(line);
        continue;
      }
      resources.threads.expect(received);
      await staging.add(line);
    }
    await staging.handOut();
  } catch (reason) {
    failure = { reason };
  }
  return { file, staging, list, counts, report, bytes: received, broken, failure };
}

/**
 * Waits until the events of an input are staged. An input that can't be read is left out.
 *
 * @throws what a thread throws, or the signal's reason
 */
async function finishReading(
  handedOut: HandedOutInput,
  encoding: ReportEncoding | undefined,
): Promise<ReadInput | LeftOut> {
  const { file, staging, list, counts, report, broken, failure } = handedOut;
  try {
    // A line before the failure may be broken.
    await staging.turn;
    staging.throwFailure();
    if (failure !== undefined) throw failure.reason;
    const staged = await staging.finish();
    const groups = list.byDay() ?? { rows: new Map(), holes: new Map() };
    if (groups.rows.size === 0) {
      for (const line of list.lines) {
        broken(line, 'expected a group with an opening date in the file, found none');
        counts.groupPages--;
      }
    }
    return { ...staged, file, staging, list, groups, report: report?.decoded(encoding), ...counts };
  } catch (error) {
    await staging.settled();
    if (isBrokenLine(error)) return { failure: error, dateless: staging.dateless };
    throw error;
  }
}

/** Seconds since the previous call, or since the start: inputs overlap, and each counts from the end of the one before. */
function stopwatch(clock: Clock): () => number {
  let last = clock.now();
  return () => {
    const began = last;
    last = clock.now();
    return (last - began) / 1000;
  };
}

async function commitGroups(
  groups: DayGroups['rows'],
  options: ImportOptions,
  { workspace }: ImportResources,
  summary: ImportSummary,
): Promise<void> {
  await withCheckedFiles(options.lake.store, workspace, async (files) => {
    for (const [day, rows] of [...groups].toSorted(([a], [b]) => a - b)) {
      options.signal.throwIfAborted();
      await files.trim();
      const added = await addGroups(options, { workspace, files }, roles.settlements, day, rows);
      noteAdded(summary, added, options.emit);
      if (added.leftOut.size === 0) summary.extendRange([day]);
    }
  });
}

/** Counts and emits the rows and files of a commit. */
function noteAdded(summary: ImportSummary, added: AddedRows, emit: Emit): void {
  const { rows, files, bytes, leftOut } = added;
  summary.add(added);
  for (const [day, events] of leftOut) summary.leaveOut(day, events);
  if (files > 0) emit({ event: 'rows-imported', pipeline: summary.pipeline, rows, files, bytes });
}

/** The input with a report of its progress as it is read. */
function withProgress(input: Input, emit: Emit): Input {
  const open = async function* (): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of input.open()) {
      bytes += chunk.length;
      yield chunk;
      emit({ event: 'input-read', input: input.name, bytes });
    }
  };
  return { ...input, open };
}
