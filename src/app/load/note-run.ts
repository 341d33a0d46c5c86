import { messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { readEndpoint } from '../../sources/finances/api-v0/endpoint.js';
import { writeLastRun, type LastPipeline } from '../../lake/upkeep/last-run.js';
import type { Store } from '../../lake/store/store.js';
import type { RunReport } from './run-summary.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** What the report of a run doesn't say of it. */
export interface RunNote {
  readonly command: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly endpoint: string | undefined;
}

/**
 * Leaves word of a run in the lake, for `ledgerlake status` and `ledgerlake report`. The note is disposable: a lake that
 * can't take it is told of, and what the run itself came to stands.
 */
export async function noteRun(
  store: Store,
  { account, range, summaries, failure }: RunReport,
  { command, startedAt, endedAt, endpoint }: RunNote,
  emit: Emit,
): Promise<void> {
  const pipelines = Object.fromEntries(
    summaries.map(({ pipeline, slices, requests, files, bytes, rows, warnings }): [string, LastPipeline] => [
      pipeline,
      { slices, requests, files, bytes, rows: Object.fromEntries(rows), warnings: keptWarnings(warnings) },
    ]),
  );
  try {
    await writeLastRun(store, {
      command,
      status: failure === undefined ? 'done' : 'failed',
      startedAt: isoInstant(startedAt),
      endedAt: isoInstant(endedAt),
      account,
      from: isoInstant(range.start),
      to: isoInstant(range.end),
      endpoint: endpoint === undefined ? null : shownEndpoint(endpoint),
      failure: failure === undefined ? null : messageOf(failure),
      pipelines,
    });
  } catch (error) {
    emit({ event: 'note-not-written', note: 'last-run', reason: messageOf(error) });
  }
}

/** Places that are kept of each kind of thing noticed: the note stays small whatever came. */
const mostPlaces = 20;

function keptWarnings(warnings: RunReport['summaries'][number]['warnings']): Record<string, Record<string, number>> {
  const most = (places: ReadonlyMap<string, number>) =>
    Object.fromEntries([...places].toSorted(([, one], [, other]) => other - one).slice(0, mostPlaces));
  return Object.fromEntries([...warnings].map(([kind, places]) => [kind, most(places)]));
}

/** The address as it may be shown: without user and password. */
function shownEndpoint(endpoint: string): string {
  const { origin, prefix } = readEndpoint(endpoint);
  return origin + prefix;
}
