import { parseNote } from '../store/store.js';
import type { Store } from '../store/store.js';

const path = '_last-run.json';

/** What one pipeline did in a run. */
export interface LastPipeline {
  readonly slices: number;
  readonly requests: number;
  readonly files: number;
  readonly bytes: number;
  /** Rows read, by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** What nobody expected in the data: how often, by kind and place, of each kind the most frequent places. */
  readonly warnings?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** The run that ended last, as it told at its end. Instants are ISO 8601 in UTC. */
export interface LastRun {
  readonly command: string;
  readonly status: 'done' | 'failed';
  readonly startedAt: string;
  readonly endedAt: string;
  readonly account: string;
  /** The range that was asked for. */
  readonly from: string;
  readonly to: string;
  /** The upstream's base address without user and password; null for the embedded service. */
  readonly endpoint: string | null;
  /** Why it failed; null where it didn't. */
  readonly failure: string | null;
  readonly pipelines: Readonly<Record<string, LastPipeline>>;
}

/**
 * Leaves word of a run in `_last-run.json` at the root of the lake. Nothing depends on it: what is loaded stands in the
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
  return parseNote(await store.read(path), (run) => (isLastRun(run) ? run : undefined));
}

function isLastRun(value: unknown): value is LastRun {
  if (typeof value !== 'object' || value === null) return false;
  const run = value as Record<string, unknown>;
  const texts = ['command', 'account', 'startedAt', 'endedAt', 'from', 'to'];
  const instants = ['startedAt', 'endedAt', 'from', 'to'];
  return (
    texts.every((name) => typeof run[name] === 'string') &&
    instants.every((name) => !Number.isNaN(Date.parse(String(run[name])))) &&
    (run['status'] === 'done' || run['status'] === 'failed') &&
    (run['endpoint'] === null || typeof run['endpoint'] === 'string') &&
    (run['failure'] === null || typeof run['failure'] === 'string') &&
    isPipelines(run['pipelines'])
  );
}

function isPipelines(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).every((pipeline: unknown) => {
    if (typeof pipeline !== 'object' || pipeline === null) return false;
    const fields = pipeline as Record<string, unknown>;
    const numbers = ['slices', 'requests', 'files', 'bytes'];
    return (
      numbers.every((name) => typeof fields[name] === 'number') &&
      typeof fields['rows'] === 'object' &&
      (fields['warnings'] === undefined || areWarnings(fields['warnings']))
    );
  });
}

function areWarnings(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).every(
    (places: unknown) =>
      typeof places === 'object' &&
      places !== null &&
      Object.values(places).every((times) => typeof times === 'number'),
  );
}
