import type { z } from 'zod';
import { parseNote, type Store } from '../store/store.js';

const path = '_last-run.json';

/** Loads zod, which takes longer than all else that reads a lake. */
async function schemas() {
  const { z } = await import('zod');
  const counts = z.record(z.string(), z.number());
  /** What one pipeline did in a run. */
  const lastPipeline = z.object({
    slices: z.number(),
    requests: z.number(),
    files: z.number(),
    bytes: z.number(),
    /** Rows read, by table. */
    rows: counts,
    /** What was unexpected in the data: how often, by kind and subject, the most frequent subjects of each kind. */
    warnings: z.record(z.string(), counts).exactOptional(),
  });
  const instant = z.string().refine((text) => !Number.isNaN(Date.parse(text)));
  /** The run that ended last, as it reported at its end. Instants are ISO 8601 in UTC. */
  const lastRun = z.object({
    command: z.string(),
    status: z.enum(['done', 'failed']),
    startedAt: instant,
    endedAt: instant,
    account: z.string(),
    /** The range that was asked for. */
    from: instant,
    to: instant,
    /** The upstream's base address without user and password; null for the embedded service. */
    endpoint: z.string().nullable(),
    /** Whether the configuration has it, so that commands need not name it. */
    endpointConfigured: z.boolean().exactOptional(),
    /** Why it failed; null where it didn't. */
    failure: z.string().nullable(),
    /** Its code (docs/errors.md), where it failed. */
    code: z.string().exactOptional(),
    pipelines: z.record(z.string(), lastPipeline),
    /** The pipelines that were asked for, also those that the run did not come to. */
    asked: z.array(z.string()).exactOptional(),
  });
  return { lastPipeline, lastRun };
}

type Schemas = Awaited<ReturnType<typeof schemas>>;
export type LastPipeline = Readonly<z.infer<Schemas['lastPipeline']>>;
export type LastRun = Readonly<z.infer<Schemas['lastRun']>>;

/**
 * Writes what a run reported to `_last-run.json` at the root of the lake. Nothing depends on it: what is loaded is in the
 * log.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written
 */
export async function writeLastRun(store: Store, run: LastRun): Promise<void> {
  await store.write(path, Buffer.from(`${JSON.stringify(run, undefined, 2)}\n`));
}

/**
 * The run that ended last; undefined where none has left word, or what it left can't be understood.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read
 */
export async function readLastRun(store: Store): Promise<LastRun | undefined> {
  const note = parseNote(await store.read(path), (value) => value);
  return note === undefined ? undefined : (await schemas()).lastRun.safeParse(note).data;
}

/** The endpoint that a command which loads an account has to name: its last run's, unless the configuration has it. */
export function endpointToName(lastRun: LastRun | undefined, account: string): string | undefined {
  if (lastRun?.account !== account || lastRun.endpointConfigured === true) return undefined;
  return lastRun.endpoint ?? undefined;
}
