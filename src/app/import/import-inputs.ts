import { financialEventGroups } from '../../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { familiesOf, type Family, type PipelineTables } from '../../core/columns/table.js';
import { CheckedFiles } from '../../lake/files/month-files.js';
import { markHandled, subWorkspace, withWorkspace } from '../../lake/files/workspace.js';
import { scanPage } from '../../sources/finances/api-v0/finances-page.js';
import type { GroupRow } from '../../sources/finances/model/group-rows.js';
import { addEvents } from './add-events.js';
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

/** Inputs that may be read before the first of them is committed: the files that they give wait on the local disk. */
const mostUncommitted = 4;

/** All of an input: its events on the local disk, or on their way there, its groups in memory. */
interface ReadInput {
  readonly staging: EventStaging;
  /** Never unhandled where nobody waits for them any more. */
  readonly months: Promise<readonly StagedMonth[]>;
  readonly list: GroupList;
  /** By the start of the day on which they opened. */
  readonly groups: ReadonlyMap<number, readonly GroupRow[]>;
  readonly eventPages: number;
  readonly groupPages: number;
  /** Lines that were left out. */
  readonly skipped: number;
}

/**
 * Loads saved pages into a lake, input by input: an input is read to its end, its rows being staged on the local disk,
 * before anything of it is committed; the next ones are read meanwhile. One that can't be read so far is left out, and the
 * others go on.
 *
 * @returns why inputs were left out, by their names
 * @throws LedgerlakeError as the lake does, or the signal's reason; what was committed by then stays, and importing the
 *   same once more goes on from there
 */
export async function importInputs(
  inputs: readonly Input[],
  threads: ChunkThreads,
  options: ImportOptions,
  summaries: ImportSummaries,
): Promise<ReadonlyMap<string, LedgerlakeError>> {
  const { limits, signal, emit, lake, clock } = options;
  tuneForComputation();
  const failures = new Map<string, LedgerlakeError>();
  const sizes = inputs.map(({ bytes }) => bytes);
  const bytes = sizes.reduce<number | null>((sum, size) => (sum === null || size === undefined ? null : sum + size), 0);
  emit({ event: 'inputs-planned', inputs: inputs.length, bytes });
  const commit = async (
    input: Input,
    read: ReadInput | LedgerlakeError,
    resources: ImportResources,
    time: ImportTime,
  ) => {
    const isLeftOut = read instanceof LedgerlakeError;
    if (isLeftOut) failures.set(input.name, read);
    else await commitInput(read, options, resources, summaries, time);
    await resources.workspace.clear();
    const status = isLeftOut ? 'left-out' : 'imported';
    emit({ event: 'input-ended', input: input.name, status, reason: isLeftOut ? read.message : null });
  };
  await withWorkspace(limits, lake.store, async (shared) => {
    const dedupIndex = new DedupIndex(options, eventFamily, shared);
    const failed = new AbortController();
    const reading = { ...options, signal: AbortSignal.any([signal, failed.signal]) };
    const time = { through: clock.now() };
    // In the order of the inputs: each is deduplicated, and then committed, when the one before is.
    let deduplicated: Promise<unknown> = Promise.resolve();
    const commits: Promise<void>[] = [];
    /** Of the inputs that may not be committed yet. */
    let stagings: readonly EventStaging[] = [];
    try {
      for (const input of inputs) {
        const resources = { workspace: subWorkspace(shared), threads, dedupIndex };
        const turn = markHandled(
          deduplicated.then(() => {
            dedupIndex.nextInput();
          }),
        );
        const handedOut = await handOutLines(input, reading, resources, turn);
        stagings = [...stagings.slice(1 - mostUncommitted), handedOut.staging];
        const read = markHandled(deduplicate(handedOut, dedupIndex));
        deduplicated = read;
        const before = commits.at(-1);
        const committed = (async () => {
          // What an input before has failed with is what the import fails with.
          const [of] = await Promise.all([read, before]).catch(async (error: unknown) => {
            await before;
            throw error;
          });
          await commit(input, of, resources, time);
        })();
        commits.push(markHandled(committed));
        committed.catch((error: unknown) => {
          failed.abort(error);
        });
        if (handedOut.failure !== undefined && !isBrokenLine(handedOut.failure.reason)) break;
        await commits.at(-mostUncommitted);
      }
      await commits.at(-1);
    } finally {
      // What is under way writes into a folder that is about to be removed.
      await Promise.allSettled([deduplicated, ...commits]);
      await Promise.all(stagings.map((staging) => staging.settled()));
      await threads.close();
      await dedupIndex.close();
    }
  });
  return failures;
}

/** An input that was read as far as it can be: its lines are handed out. */
interface HandedOutInput {
  readonly staging: EventStaging;
  readonly list: GroupList;
  readonly counts: { eventPages: number; groupPages: number; skipped: number };
  /** Takes note of a line that can't be read. Throws LedgerlakeError BROKEN_LINE where such lines aren't left out. */
  readonly broken: (line: number, found: string) => void;
  /** When the inputs before are deduplicated: until then nothing of it is. */
  readonly turn: Promise<void>;
  /** Why it wasn't read to its end: LedgerlakeError BROKEN_LINE, what a thread throws, or the signal's reason. */
  readonly failure: { readonly reason: unknown } | undefined;
}

/** Of an input that is left out, while the others go on: after any other failure nothing further is read. */
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
      list.add(scanPage(body), line);
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code !== 'UPSTREAM_BODY') throw error;
      broken(line, error.message);
      return;
    }
    counts.groupPages++;
    if (hasEvents) counts.eventPages++;
  };
  const listener = { input, broken, addGroups, addEventPage: () => counts.eventPages++ };
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
 * @returns LedgerlakeError BROKEN_LINE where the input can't be read: nothing of it is to be committed
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

/** When the input before was through: milliseconds since 1970. */
interface ImportTime {
  through: number;
}

async function commitInput(
  { staging, months, list, groups, eventPages, groupPages, skipped }: ReadInput,
  options: ImportOptions,
  { workspace, dedupIndex }: ImportResources,
  summaries: ImportSummaries,
  time: ImportTime,
): Promise<void> {
  const { clock, signal } = options;
  const staged = await months;
  summaries.skippedLines += skipped;
  const localFiles = new CheckedFiles(workspace);
  const undated = new UndatedDedup(options, eventFamily, workspace, localFiles, staging.undated);
  const files = { workspace, files: localFiles, dedupIndex, undated };
  // What one input takes of the time begins where the one before ended: they overlap.
  const seconds = () => {
    const began = time.through;
    return ((time.through = clock.now()) - began) / 1000;
  };
  const add = (
    summary: ImportSummary,
    rows: Readonly<Record<string, number>>,
    added: Parameters<ImportSummary['add']>[1],
  ) => {
    const { files: written, bytes } = added;
    summary.add(rows, added);
    if (written > 0) options.emit({ event: 'rows-imported', pipeline: summary.pipeline, rows, files: written, bytes });
  };

  const events = summaries.of(financialEvents.name, staging.warnings);
  events.pages += eventPages;
  for (const [day, rows] of staging.leftOut) events.leaveOut(day, rows);
  for (const [day, known] of staging.known) {
    events.known += known;
    events.touch([day]);
  }
  for (const month of staged) {
    signal.throwIfAborted();
    const added = await addEvents(options, files, eventFamily, month);
    add(events, { events: added.events, entries: added.entries }, added);
    events.touch(month.days);
  }
  summaries.undecided += undated.undecided;
  events.seconds += seconds();

  const summary = summaries.of(financialEventGroups.name, list.warnings);
  summary.pages += groupPages;
  for (const [day, rows] of [...groups].toSorted(([a], [b]) => a - b)) {
    signal.throwIfAborted();
    const added = await addGroups(options, files, groupFamily, day, rows);
    add(summary, { groups: added.groups }, added);
    if (added.leftOut > 0) summary.leaveOut(day, added.leftOut);
    else summary.touch([day]);
  }
  summary.seconds += seconds();
}

/** The input, whose bytes are reported as they are read. */
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
