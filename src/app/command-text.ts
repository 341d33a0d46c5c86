import { dayMs, type Window } from '../core/windows.js';
import { isoInstant } from '../core/numeric/instant.js';

/** What a backfill is asked for. */
export interface BackfillArguments {
  /** Names; empty for the default set. */
  readonly pipelines: readonly string[];
  readonly lake: string;
  readonly account: string;
  readonly range: Window;
  /** Where the user's own pipelines are defined, if that was said. */
  readonly pipelineFolder?: string | undefined;
  /** Undefined: the embedded service. */
  readonly endpoint: string | undefined;
}

/** The command line of a backfill, to be pasted into a shell. */
export function backfillCommand({
  pipelines,
  lake,
  account,
  range,
  endpoint,
  pipelineFolder,
}: BackfillArguments): string {
  const words = [
    ...['ledgerlake', 'backfill', ...pipelines, '--lake', lake, '--account', account],
    ...(pipelineFolder === undefined ? [] : ['--pipelines', pipelineFolder]),
    ...(endpoint === undefined ? [] : ['--endpoint', endpoint]),
    ...['--from', instantText(range.start), '--to', instantText(range.end)],
  ];
  return words.map(shellWord).join(' ');
}

/** A word as a POSIX shell takes it, whatever it holds. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !word.startsWith('=') ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** ISO 8601 in UTC, as short as it may be: a date for a midnight, seconds without a fraction where there is none. */
export function instantText(ms: number): string {
  const text = isoInstant(ms);
  return ms % dayMs === 0 ? text.slice(0, 10) : text.replace('.000Z', 'Z');
}
