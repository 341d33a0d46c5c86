import { financialEventGroups } from '../../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import type { Clock } from '../../core/clock.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Hole } from '../../core/json/tape.js';
import type { Emit } from '../../core/events/run-event.js';
import { familiesOf, type Family, type PipelineTables } from '../../core/columns/table.js';
import { CheckedFiles } from '../../lake/files/month-files.js';
import { markHandled, subWorkspace, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { scanPage } from '../../sources/finances/api-v0/finances-page.js';
import { holeText } from '../../sources/finances/selling-partner/page-holes.js';
import { countWarning } from '../../sources/finances/model/slice-rows.js';
import type { GroupRow } from '../../sources/finances/model/group-rows.js';
import { addEvents, type AddedRows, type InputFiles } from './add-events.js';
import { addGroups, GroupList } from './add-groups.js';
import type { GroupsBody } from './chunk.js';
import { tuneForComputation } from '../../core/v8-flags.js';
import type { ChunkThreads } from './chunk-threads.js';
import { DedupIndex } from './dedup-index.js';
import { EventStaging, type ImportResources, type StagedMonth } from './event-staging.js';
import type { ImportSummaries, ImportSummary } from './import-summary.js';
import type { ImportOptions } from './imported-day-files.js';
import type { Input } from './input-bytes.js';
import { brokenLine, savedLines } from './saved-pages.js';
import { UndatedDedup } from './undated-events.js';

const eventFamily = familyOf(financialEvents);
const groupFamily = familyOf(financialEventGroups);

function familyOf(pipeline: PipelineTables): Family {
  const [family] = familiesOf([pipeline]);
  if (family === undefined) throw new Error(`the pipeline ${pipeline.name} has no table`);
  return family;
}

/** Inputs that may be read before the first of them is committed: their files wait on the local disk. */
const mostUncommitted = 4;

/** An input that is read and deduplicated: its events are on the local disk or being written, its groups in memory. */
interface ReadInput {
  readonly staging: EventStaging;
  /** A handled promise. */
  readonly months: Promise<readonly StagedMonth[]>;
  readonly list: GroupList;
  /** By the start of the day on which the groups opened. */
  readonly groups: ReadonlyMap<number, readonly GroupRow[]>;
  readonly eventPages: number;
  readonly groupPages: number;
  /** Broken lines that were skipped. */
  readonly skipped: number;
}

/**
 * Loads saved pages into a lake, input by input. An input is read to its end, with its rows staged on the local disk, before
 * anything of it is committed; the next inputs are read meanwhile. An input with broken lines is left out.
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
  return withWorkspace(options.limits, options.lake.store, async (workspace) => {
    const queue = new InputQueue({ workspace, threads, options, summaries });
    try {
      for (const input of inputs) if (!(await queue.add(input))) break;
      await queue.committed();
      return queue.failures;
    } finally {
      await queue.close();
    }
  });
}

/** Null where the size of an input is unknown. */
function totalBytes(inputs: readonly Input[]): number | null {
  return inputs.reduce<number | null>(
    (sum, { bytes }) => (sum === null || bytes === undefined ? null : sum + bytes),
    0,
  );
}

interface InputQueueContext {
  readonly workspace: Workspace;
  readonly threads: ChunkThreads;
  readonly options: ImportOptions;
  readonly summaries: ImportSummaries;
}

/** Inputs on their way into the lake: several are read at once; they are deduplicated and committed in their order. */
class InputQueue {
  /** Why inputs were left out, by name. */
  readonly failures = new Map<string, LedgerlakeError>();
  readonly #context: InputQueueContext;
  readonly #dedupIndex: DedupIndex;
  /** Aborts reading once a commit has failed. */
  readonly #failed = new AbortController();
  readonly #secondsPassed: () => number;
  /** When the newest input is deduplicated. */
  #deduplicated: Promise<unknown> = Promise.resolve();
  readonly #commits: Promise<void>[] = [];
  /** The stagings of inputs that may not be committed yet. */
  #stagings: readonly EventStaging[] = [];

  constructor(context: InputQueueContext) {
    const { options, workspace } = context;
    this.#context = context;
    this.#dedupIndex = new DedupIndex(options, eventFamily, workspace);
    this.#secondsPassed = stopwatch(options.clock);
  }

  /** Reads an input, and queues its commit. False where reading failed and no further input is to be read. */
  async add(input: Input): Promise<boolean> {
    const { workspace, threads, options } = this.#context;
    const dedupIndex = this.#dedupIndex;
    const resources = { workspace: subWorkspace(workspace), threads, dedupIndex };
    const turn = markHandled(this.#deduplicated.then(dedupIndex.nextInput.bind(dedupIndex)));
    const signal = AbortSignal.any([options.signal, this.#failed.signal]);
    const handedOut = await handOutLines(input, { ...options, signal }, resources, turn);
    this.#stagings = [...this.#stagings.slice(1 - mostUncommitted), handedOut.staging];
    const read = markHandled(deduplicate(handedOut, dedupIndex));
    this.#deduplicated = read;
    this.#queueCommit(input, read, resources);
    if (handedOut.failure !== undefined && !isBrokenLine(handedOut.failure.reason)) return false;
    await this.#commits.at(-mostUncommitted);
    return true;
  }

  /** Resolves once all inputs are committed or left out. */
  async committed(): Promise<void> {
    await this.#commits.at(-1);
  }

  /** Waits for all pending steps, which write to the workspace, and closes the threads. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#deduplicated, ...this.#commits]);
    await Promise.all(this.#stagings.map((staging) => staging.settled()));
    await this.#context.threads.close();
    await this.#dedupIndex.close();
  }

  #queueCommit(input: Input, read: Promise<ReadInput | LedgerlakeError>, resources: ImportResources): void {
    const before = this.#commits.at(-1);
    const commit = async (): Promise<void> => {
      // The import fails with the failure of the first input that fails.
      const [result] = await Promise.all([read, before]).catch(async (error: unknown) => {
        await before;
        throw error;
      });
      await this.#commit(input, result, resources);
    };
    const committed = markHandled(commit());
    this.#commits.push(committed);
    committed.catch((error: unknown) => {
      this.#failed.abort(error);
    });
  }

  async #commit(input: Input, read: ReadInput | LedgerlakeError, resources: ImportResources): Promise<void> {
    const { options, summaries } = this.#context;
    const isLeftOut = read instanceof LedgerlakeError;
    if (isLeftOut) this.failures.set(input.name, read);
    else await commitInput(read, options, resources, summaries, this.#secondsPassed);
    await resources.workspace.clear();
    const status = isLeftOut ? 'left-out' : 'imported';
    options.emit({ event: 'input-ended', input: input.name, status, reason: isLeftOut ? read.message : null });
  }
}

/** An input whose lines are handed out, up to its end or to a failure. */
interface HandedOutInput {
  readonly staging: EventStaging;
  readonly list: GroupList;
  readonly counts: { eventPages: number; groupPages: number; skipped: number };
  /** Counts a broken line. Throws LedgerlakeError BROKEN_LINE where broken lines aren't skipped. */
  readonly broken: (line: number, found: string) => void;
  /** When the inputs before are deduplicated, and this one may be. */
  readonly turn: Promise<void>;
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
  turn: Promise<void>,
): Promise<HandedOutInput> {
  const { signal, skipBroken, emit } = options;
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
  const hole = (line: number, left: Hole): void => {
    const isGroup = left.list === 'FinancialEventGroupList';
    const place = `${input.name}, line ${line}, ${holeText(left)}`;
    countWarning(isGroup ? list.warnings.holes : staging.warnings.holes, place);
    emit({ event: 'hole-left', pipeline: (isGroup ? groupFamily : eventFamily).pipeline, place });
  };
  const listener = { input, broken, hole, addGroups, addEventPage: () => counts.eventPages++ };
  const staging = new EventStaging(options, resources, eventFamily, listener, turn);

  let received = 0;
  let failure: HandedOutInput['failure'];
  try {
    signal.throwIfAborted();
    for await (const line of savedLines(withProgress(input, emit), signal)) {
      resources.threads.expect((received += line.bytes?.length ?? 0));
      await staging.add(line);
    }
    await staging.handOut();
  } catch (reason) {
    failure = { reason };
  }
  return { staging, list, counts, broken, turn, failure };
}

/**
 * Waits until all events of an input are deduplicated.
 *
 * @returns LedgerlakeError BROKEN_LINE where the input can't be read, so that nothing of it is committed
 * @throws LedgerlakeError what a thread throws, or the signal's reason
 */
async function deduplicate(
  { staging, list, counts, broken, turn, failure }: HandedOutInput,
  dedupIndex: DedupIndex,
): Promise<ReadInput | LedgerlakeError> {
  try {
    await turn;
    if (failure !== undefined) throw failure.reason;
    await staging.finish();
    const groups = list.byDay() ?? new Map<number, GroupRow[]>();
    if (groups.size === 0) {
      for (const line of list.lines) {
        broken(line, 'expected a group with an opening date in the file, found none');
        counts.groupPages--;
      }
    }
    return { staging, months: markHandled(staging.months()), list, groups, ...counts };
  } catch (error) {
    await staging.settled();
    dedupIndex.abandonInput();
    if (isBrokenLine(error)) return error;
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

/** Commits the events and the groups of an input. */
async function commitInput(
  input: ReadInput,
  options: ImportOptions,
  { workspace, dedupIndex }: ImportResources,
  summaries: ImportSummaries,
  secondsPassed: () => number,
): Promise<void> {
  const { staging, list } = input;
  const months = await input.months;
  const localFiles = new CheckedFiles(workspace);
  const undated = new UndatedDedup(options, eventFamily, workspace, localFiles, staging.undated);
  const files = { workspace, files: localFiles, dedupIndex, undated };
  summaries.skippedLines += input.skipped;
  const events = summaries.of(financialEvents.name, staging.warnings);
  events.pages += input.eventPages;
  await commitEvents(staging, months, options, files, events);
  summaries.undecided += undated.undecided;
  events.seconds += secondsPassed();
  const groups = summaries.of(financialEventGroups.name, list.warnings);
  groups.pages += input.groupPages;
  await commitGroups(input.groups, options, files, groups);
  groups.seconds += secondsPassed();
}

async function commitEvents(
  { leftOut, known }: EventStaging,
  months: readonly StagedMonth[],
  options: ImportOptions,
  files: InputFiles,
  summary: ImportSummary,
): Promise<void> {
  for (const [day, rows] of leftOut) summary.leaveOut(day, rows);
  for (const [day, rows] of known) {
    summary.known += rows;
    summary.extendRange([day]);
  }
  for (const month of months) {
    options.signal.throwIfAborted();
    const added = await addEvents(options, files, eventFamily, month);
    noteAdded(summary, added, options.emit);
    summary.extendRange(month.days);
  }
}

async function commitGroups(
  groups: ReadInput['groups'],
  options: ImportOptions,
  files: InputFiles,
  summary: ImportSummary,
): Promise<void> {
  for (const [day, rows] of [...groups].toSorted(([a], [b]) => a - b)) {
    options.signal.throwIfAborted();
    const added = await addGroups(options, files, groupFamily, day, rows);
    noteAdded(summary, added, options.emit);
    if (added.leftOut > 0) summary.leaveOut(day, added.leftOut);
    else summary.extendRange([day]);
  }
}

/** Counts and emits the rows and files of a commit. */
function noteAdded(summary: ImportSummary, added: AddedRows, emit: Emit): void {
  const { rows, files, bytes } = added;
  summary.add(added);
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
