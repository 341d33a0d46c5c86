import { z } from 'zod';
import type { Store } from '../store/store.js';
import { NoteFolder } from './note-folder.js';

const counts = z.record(z.string(), z.number());
/** The figures of one pipeline in a run. */
const lastPipeline = z.object({
  slices: z.number(),
  requests: z.number(),
  files: z.number(),
  bytes: z.number(),
  /** Rows read, by table. */
  rows: counts,
  /** Warnings on unexpected data: counts by kind and subject, of the most frequent subjects of each kind. */
  warnings: z.record(z.string(), counts).exactOptional(),
});
const instant = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
/** The report of an account's last run. Instants are ISO 8601 in UTC. */
const lastRun = z.object({
  command: z.string(),
  status: z.enum(['done', 'failed']),
  startedAt: instant,
  endedAt: instant,
  account: z.string(),
  /** The requested range. */
  from: instant,
  to: instant,
  /** The upstream's base address without user and password; null for the embedded service. */
  endpoint: z.string().nullable(),
  /** Whether the endpoint is configured, so that commands needn't name it. */
  endpointConfigured: z.boolean().exactOptional(),
  /** Seconds to add to the machine's clock, where it differed from the API's. */
  clockOffsetSeconds: z.number().exactOptional(),
  /** Why it failed; null where it didn't. */
  failure: z.string().nullable(),
  /** The error's code (docs/errors.md), where it failed. */
  code: z.string().exactOptional(),
  pipelines: z.record(z.string(), lastPipeline),
  /** The requested pipelines, also those that the run did not reach. */
  requested: z.array(z.string()).exactOptional(),
});

/** One note for each account, by its name. */
export const lastRunNotes = new NoteFolder('_last-run', (value) => lastRun.parse(value));

export type LastPipeline = Readonly<z.infer<typeof lastPipeline>>;
export type LastRun = Readonly<z.infer<typeof lastRun>>;

/** The last run of each account, the newest one at the end. */
export type LastRuns = ReadonlyMap<string, LastRun>;

/**
 * Writes the report of a run, in place of the account's earlier one. It isn't essential: the log has what is loaded.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written
 */
export async function writeLastRun(store: Store, run: LastRun): Promise<void> {
  await lastRunNotes.write(store, run.account, run);
}

/**
 * The last run of each account, without reports that are invalid.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read
 */
export async function readLastRuns(store: Store): Promise<LastRuns> {
  const runs: LastRun[] = [];
  for await (const { name, note } of lastRunNotes.all(store)) if (note?.account === name) runs.push(note);
  const oldestFirst = runs.toSorted((a, b) => Date.parse(a.endedAt) - Date.parse(b.endedAt));
  return new Map(oldestFirst.map((run) => [run.account, run]));
}

/** The newest run of any account; undefined where there is none. */
export function newestRun(lastRuns: LastRuns): LastRun | undefined {
  return [...lastRuns.values()].at(-1);
}

/** The endpoint that a load command for an account must name: that of its last run, unless it is configured. */
export function endpointToName(lastRuns: LastRuns, account: string): string | undefined {
  const { endpoint, endpointConfigured } = lastRuns.get(account) ?? {};
  return endpointConfigured === true ? undefined : (endpoint ?? undefined);
}
