import { z } from 'zod';
import { parseNote, writeNote, type Store } from '../store/store.js';

/** The path of the note of the last run within a lake. */
export const lastRunPath = '_last-run.json';

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
/** The report of the last run. Instants are ISO 8601 in UTC. */
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

export type LastPipeline = Readonly<z.infer<typeof lastPipeline>>;
export type LastRun = Readonly<z.infer<typeof lastRun>>;

/**
 * Writes the report of a run to `_last-run.json` at the root of the lake. It isn't essential: the log has what is loaded.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written
 */
export function writeLastRun(store: Store, run: LastRun): Promise<void> {
  return writeNote(store, lastRunPath, run);
}

/**
 * The report of the last run; undefined where it is missing or invalid.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read
 */
export async function readLastRun(store: Store): Promise<LastRun | undefined> {
  return parseNote(await store.read(lastRunPath), (value) => lastRun.parse(value));
}

/** The endpoint that a load command for an account must name: that of its last run, unless it is configured. */
export function endpointToName(lastRun: LastRun | undefined, account: string): string | undefined {
  if (lastRun?.account !== account || lastRun.endpointConfigured === true) return undefined;
  return lastRun.endpoint ?? undefined;
}
