import { financialEventGroups } from '../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../pipelines/financial-events.js';
import { LedgerlakeError } from '../errors.js';
import type { Tell } from '../events/run-event.js';
import { newNotices, type Notices } from '../finances/notices.js';
import { HeldFiles } from '../history/held-rows.js';
import { familiesOf, type Family } from '../maintenance/families.js';
import { withWorkspace, type Limits, type Workspace } from '../maintenance/workspace.js';
import { addEvents } from './event-days.js';
import { EventPart, EventProgress } from './event-part.js';
import { addGroups } from './group-days.js';
import { GroupList } from './group-list.js';
import { takenDays, type ImportTarget } from './held-days.js';
import type { Input } from './input-bytes.js';
import { brokenLine, savedPages } from './saved-pages.js';
import { stagedMonth, type StagedMonth } from './staged-months.js';
import { contentOf } from './page-content.js';
import type { ImportSummary, ImportSummaries } from './summaries.js';

export interface ImportOptions extends ImportTarget {
  readonly signal: AbortSignal;
  /** Leaves out lines that are no bodies of the service, in the place of the whole input. */
  readonly skipBroken: boolean;
  readonly limits: ImportLimits;
  readonly tell: Tell;
}

/** What an import may hold in memory. */
export interface ImportLimits extends Limits {
  /** Bytes of pages that are flattened at once. */
  readonly partBytes: number;
  /** Distinct events that are known while an input is read, to tell equal ones apart. */
  readonly countedEvents: number;
}

/** A part is about 6,000 events with ten amounts each; what is made of it takes several times its bytes for a moment. */
export const importLimits: ImportLimits = {
  memory: '256MB',
  rangeBytes: 64_000_000,
  rawBytes: 8_000_000,
  partBytes: 8_000_000,
  countedEvents: 500_000,
};

/** Pages whose days can't be told, as none of them has a date, are held until this many times a part's bytes. */
const mostUndatedParts = 4;

const families = new Map(
  familiesOf([financialEvents, financialEventGroups]).map((family) => [family.pipeline, family]),
);

/** Whose tables saved pages come into. */
export const importedPipelines: readonly string[] = [...families.keys()];

function familyOf(pipeline: string): Family {
  const family = families.get(pipeline);
  if (family === undefined) throw new Error(`no pipeline ${pipeline}`);
  return family;
}

/**
 * Brings saved pages into a lake, input by input: an input is read to its end, its rows being staged on the local disk,
 * before anything of it is committed. One that can't be read so far is left out, and the others go on.
 *
 * @returns why inputs were left out, by their names
 * @throws LedgerlakeError as the lake does, or the signal's reason; what was committed by then stays, and importing the
 *   same again goes on from there
 */
export async function importInputs(
  inputs: readonly Input[],
  options: ImportOptions,
  summaries: ImportSummaries,
): Promise<ReadonlyMap<string, LedgerlakeError>> {
  const failures = new Map<string, LedgerlakeError>();
  const sizes = inputs.map(({ bytes }) => bytes);
  const bytes = sizes.reduce<number | null>((sum, size) => (sum === null || size === undefined ? null : sum + size), 0);
  options.tell({ event: 'inputs-planned', inputs: inputs.length, bytes });
  await withWorkspace(options.limits, async (workspace) => {
    for (const input of inputs) {
      options.signal.throwIfAborted();
      let failure: LedgerlakeError | undefined;
      try {
        await importInput(input, options, workspace, summaries);
      } catch (error) {
        if (!(error instanceof LedgerlakeError) || error.code !== 'BROKEN_LINE') throw error;
        failure = error;
        failures.set(input.name, error);
      }
      await workspace.clear();
      const outcome = failure === undefined ? 'imported' : 'left-out';
      const reason = failure?.message ?? null;
      options.tell({ event: 'input-ended', input: input.name, status: outcome, reason });
    }
  });
  return failures;
}

async function importInput(
  input: Input,
  options: ImportOptions,
  workspace: Workspace,
  summaries: ImportSummaries,
): Promise<void> {
  const { clock, signal, tell } = options;
  const began = clock.now();
  const read = await readInput(watched(input, tell), options, workspace);
  summaries.skippedLines += read.skipped;
  const files = { workspace, files: new HeldFiles(workspace), own: new Set<string>() };
  const seconds = (since: number) => (clock.now() - since) / 1000;

  const events = summaries.of(financialEvents.name, read.eventNotices);
  events.pages += read.eventPages;
  for (const [day, left] of read.leftOut) leaveOut(events, day, left);
  for (const [at, staged] of read.months.entries()) {
    signal.throwIfAborted();
    const earlier = read.months.slice(0, at);
    const added = await addEvents(options, files, familyOf(financialEvents.name), staged, earlier);
    const rows = { events: added.events, entries: added.entries };
    events.add(rows, added);
    tellImported(tell, financialEvents.name, rows, added);
    events.touch(staged.days);
  }
  events.seconds += seconds(began);

  const listed = clock.now();
  const groups = summaries.of(financialEventGroups.name, read.groupNotices);
  groups.pages += read.groupPages;
  for (const [day, rows] of [...read.groups].toSorted(([a], [b]) => a - b)) {
    signal.throwIfAborted();
    const added = await addGroups(options, files, familyOf(financialEventGroups.name), day, rows);
    groups.add({ groups: added.groups }, added);
    tellImported(tell, financialEventGroups.name, { groups: added.groups }, added);
    if (added.leftOut > 0) leaveOut(groups, day, added.leftOut);
    else groups.touch([day]);
  }
  groups.seconds += seconds(listed);
}

/** The input, whose bytes are told of as they are read. */
function watched(input: Input, tell: Tell): Input {
  const open = async function* (): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of input.open()) {
      bytes += chunk.length;
      yield chunk;
      tell({ event: 'input-read', input: input.name, bytes });
    }
  };
  return { ...input, open };
}

function tellImported(
  tell: Tell,
  pipeline: string,
  rows: Readonly<Record<string, number>>,
  { files, bytes }: { readonly files: number; readonly bytes: number },
): void {
  if (files > 0) tell({ event: 'rows-imported', pipeline, rows, files, bytes });
}

function leaveOut(summary: ImportSummary, day: number, rows: number): void {
  summary.leftOutDays.add(day);
  summary.leftOut += rows;
}

/** All of an input: its events on the local disk, its groups in memory. */
interface ReadInput {
  readonly months: readonly StagedMonth[];
  /** Events of days that windows were loaded for, by the start of the day. */
  readonly leftOut: ReadonlyMap<number, number>;
  readonly groups: ReturnType<typeof groupsOf>;
  readonly eventPages: number;
  readonly groupPages: number;
  readonly eventNotices: Notices;
  readonly groupNotices: Notices;
  /** Lines that were left out. */
  readonly skipped: number;
}

async function readInput(input: Input, options: ImportOptions, workspace: Workspace): Promise<ReadInput> {
  const { signal, skipBroken, limits, account } = options;
  const family = familyOf(financialEvents.name);
  const isTaken = takenDays(options, family);
  const eventNotices = newNotices();
  const groupNotices = newNotices();
  const progress = new EventProgress(limits.countedEvents);
  const list = new GroupList(groupNotices);
  const months: StagedMonth[] = [];
  const leftOut = new Map<number, number>();
  const counts = { eventPages: 0, groupPages: 0, skipped: 0 };
  let part = new EventPart(eventNotices, progress);
  let last = 1;

  const broken = (line: number, found: string): void => {
    const error = brokenLine(input.name, line, found);
    if (!skipBroken) throw error;
    counts.skipped++;
    options.tell({ event: 'line-left-out', reason: error.message });
  };
  const stage = async (): Promise<void> => {
    const finished = part.finish(isTaken);
    for (const [day, events] of finished.leftOut) leftOut.set(day, (leftOut.get(day) ?? 0) + events);
    for (const month of finished.months) {
      const staged = await stagedMonth(workspace, family, account, month);
      if (staged !== undefined) months.push(staged);
    }
    part = new EventPart(eventNotices, progress);
  };

  for await (const { page, line, bytes } of savedPages(input, broken)) {
    signal.throwIfAborted();
    last = line;
    const content = contentOf(page);
    try {
      if (content.hasEvents) part.add(page, bytes);
      if (content.hasGroups) list.add(page);
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code !== 'UPSTREAM_BODY') throw error;
      broken(line, error.message);
      continue;
    }
    if (content.hasGroups) counts.groupPages++;
    if (content.hasEvents || !content.hasGroups) counts.eventPages++;
    if (part.bytes < limits.partBytes) continue;
    if (part.isPlaceable) await stage();
    else if (part.bytes > limits.partBytes * mostUndatedParts) break;
  }
  if (!part.isPlaceable) {
    throw brokenLine(input.name, last, 'expected an event with a date by here, found none: nobody can tell their days');
  }
  await stage();
  return { months, leftOut, groups: groupsOf(list, input, last), ...counts, eventNotices, groupNotices };
}

function groupsOf(list: GroupList, input: Input, last: number) {
  const groups = list.finish();
  if (groups !== undefined) return groups;
  throw brokenLine(input.name, last, 'expected a group that says when it opened by here, found none');
}
