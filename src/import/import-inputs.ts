import { financialEventGroups } from '../../pipelines/financial-event-groups.js';
import { financialEvents } from '../../pipelines/financial-events.js';
import { LedgerlakeError } from '../errors.js';
import type { Tell } from '../events/run-event.js';
import { HeldFiles } from '../history/held-rows.js';
import { familiesOf, type Family } from '../maintenance/families.js';
import { withWorkspace } from '../maintenance/workspace.js';
import { withWriter } from '../parquet/sized-writer.js';
import { addEvents } from './event-days.js';
import { addGroups } from './group-days.js';
import type { ImportOptions } from './import-options.js';
import type { Input } from './input-bytes.js';
import { readInput, type Places } from './read-input.js';
import type { ImportSummary, ImportSummaries } from './summaries.js';

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
  const { limits, signal, tell } = options;
  const failures = new Map<string, LedgerlakeError>();
  const sizes = inputs.map(({ bytes }) => bytes);
  const bytes = sizes.reduce<number | null>((sum, size) => (sum === null || size === undefined ? null : sum + size), 0);
  tell({ event: 'inputs-planned', inputs: inputs.length, bytes });
  await withWorkspace(limits, (workspace) =>
    withWriter(limits.thread, signal, async (writer) => {
      writer.expect(sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0));
      for (const input of inputs) {
        signal.throwIfAborted();
        let failure: LedgerlakeError | undefined;
        try {
          await importInput(input, options, { workspace, writer }, summaries);
        } catch (error) {
          if (!(error instanceof LedgerlakeError) || error.code !== 'BROKEN_LINE') throw error;
          failure = error;
          failures.set(input.name, error);
        }
        await workspace.clear();
        const outcome = failure === undefined ? 'imported' : 'left-out';
        const reason = failure?.message ?? null;
        tell({ event: 'input-ended', input: input.name, status: outcome, reason });
      }
    }),
  );
  return failures;
}

async function importInput(
  input: Input,
  options: ImportOptions,
  places: Places,
  summaries: ImportSummaries,
): Promise<void> {
  const { workspace } = places;
  const { clock, signal, tell } = options;
  const began = clock.now();
  const read = await readInput(watched(input, tell), options, places, familyOf(financialEvents.name));
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
