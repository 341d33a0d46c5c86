import { financialEventGroups } from '../../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../../pipelines/financial-events.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { HeldFiles } from '../../lake/files/month-files.js';
import { familiesOf, type Family } from '../../core/columns/table.js';
import { handled, ownFiles, withWorkspace, type Workspace } from '../../lake/files/workspace.js';
import { withWriter, type SizedWriter } from '../../core/parquet/thread.js';
import { addEvents } from './add-events.js';
import { addGroups } from './add-groups.js';
import { withDedupIndex, type DedupIndex } from './dedup-index.js';
import type { ImportOptions } from './import-options.js';
import type { Input } from './input-bytes.js';
import { RawMemory } from './event-chunk.js';
import { UndatedDedup } from './undated-events.js';
import { readInput, type ImportResources, type ReadInput } from './read-input.js';
import type { ImportSummary, ImportSummaries } from './import-summary.js';

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
 * before anything of it is committed; the next one is read meanwhile. One that can't be read so far is left out, and the
 * others go on.
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
  const { limits, signal, emit } = options;
  const failures = new Map<string, LedgerlakeError>();
  const sizes = inputs.map(({ bytes }) => bytes);
  const bytes = sizes.reduce<number | null>((sum, size) => (sum === null || size === undefined ? null : sum + size), 0);
  emit({ event: 'inputs-planned', inputs: inputs.length, bytes });
  const events = familyOf(financialEvents.name);
  const work = async (shared: Workspace, writer: SizedWriter, dedupIndex: DedupIndex): Promise<void> => {
    writer.expect(sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0));
    const failed = new AbortController();
    const reading = { ...options, signal: AbortSignal.any([signal, failed.signal]) };
    const time = { through: options.clock.now() };
    const raws = new RawMemory(2 * limits.chunkBytes);
    // While one input's last files are written and committed, the next one is read already.
    let before: Promise<void> = Promise.resolve();
    for (const input of inputs) {
      const resources = { workspace: ownFiles(shared), writer, dedupIndex, raws };
      const read = await soundInput(withProgress(input, emit), reading, resources).catch(async (error: unknown) => {
        await before;
        throw error;
      });
      await before;
      if (read instanceof LedgerlakeError) failures.set(input.name, read);
      before = handled(
        endInput(input, read, options, resources, summaries, time).catch((error: unknown) => {
          failed.abort(error);
          throw error;
        }),
      );
    }
    await before;
  };
  await withWorkspace(limits, options.lake.store, (shared) =>
    withDedupIndex(options, events, shared, (dedupIndex) =>
      withWriter(limits.thread, signal, (writer) => work(shared, writer, dedupIndex)),
    ),
  );
  return failures;
}

/** What an input holds, or why it is left out. Throws what else ends the import. */
async function soundInput(
  input: Input,
  options: ImportOptions,
  resources: ImportResources,
): Promise<ReadInput | LedgerlakeError> {
  options.signal.throwIfAborted();
  try {
    return await readInput(input, options, resources, familyOf(financialEvents.name));
  } catch (error) {
    if (error instanceof LedgerlakeError && error.code === 'BROKEN_LINE') return error;
    throw error;
  }
}

/** When the input before was through: milliseconds since 1970. */
interface ImportTime {
  through: number;
}

async function endInput(
  input: Input,
  read: ReadInput | LedgerlakeError,
  options: ImportOptions,
  resources: ImportResources,
  summaries: ImportSummaries,
  time: ImportTime,
): Promise<void> {
  const isLeftOut = read instanceof LedgerlakeError;
  if (!isLeftOut) await commitInput(read, options, resources, summaries, time);
  await resources.workspace.clear();
  const status = isLeftOut ? 'left-out' : 'imported';
  options.emit({ event: 'input-ended', input: input.name, status, reason: isLeftOut ? read.message : null });
}

async function commitInput(
  read: ReadInput,
  options: ImportOptions,
  { workspace, dedupIndex }: ImportResources,
  summaries: ImportSummaries,
  time: ImportTime,
): Promise<void> {
  const { clock, signal, emit } = options;
  const months = await read.months;
  summaries.skippedLines += read.skipped;
  const held = new HeldFiles(workspace);
  const undated = new UndatedDedup(options, familyOf(financialEvents.name), workspace, held, read.undated);
  const files = { workspace, files: held, dedupIndex, undated };
  // What one input takes of the time begins where the one before ended: they overlap.
  const seconds = () => {
    const began = time.through;
    return ((time.through = clock.now()) - began) / 1000;
  };

  const events = summaries.of(financialEvents.name, read.eventWarnings);
  events.pages += read.eventPages;
  for (const [day, left] of read.leftOut) leaveOut(events, day, left);
  for (const [day, known] of read.known) {
    events.known += known;
    events.touch([day]);
  }
  for (const staged of months) {
    signal.throwIfAborted();
    const added = await addEvents(options, files, familyOf(financialEvents.name), staged);
    const rows = { events: added.events, entries: added.entries };
    events.add(rows, added);
    emitImported(emit, financialEvents.name, rows, added);
    events.touch(staged.days);
  }
  summaries.undecided += undated.undecided;
  events.seconds += seconds();

  const groups = summaries.of(financialEventGroups.name, read.groupWarnings);
  groups.pages += read.groupPages;
  for (const [day, rows] of [...read.groups].toSorted(([a], [b]) => a - b)) {
    signal.throwIfAborted();
    const added = await addGroups(options, files, familyOf(financialEventGroups.name), day, rows);
    groups.add({ groups: added.groups }, added);
    emitImported(emit, financialEventGroups.name, { groups: added.groups }, added);
    if (added.leftOut > 0) leaveOut(groups, day, added.leftOut);
    else groups.touch([day]);
  }
  groups.seconds += seconds();
}

/** The input, whose bytes are told of as they are read. */
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

function emitImported(
  emit: Emit,
  pipeline: string,
  rows: Readonly<Record<string, number>>,
  { files, bytes }: { readonly files: number; readonly bytes: number },
): void {
  if (files > 0) emit({ event: 'rows-imported', pipeline, rows, files, bytes });
}

function leaveOut(summary: ImportSummary, day: number, rows: number): void {
  summary.leftOutDays.add(day);
  summary.leftOut += rows;
}
