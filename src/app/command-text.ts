import { dayMs, type Window } from '../core/windows.js';
import { isoInstant } from '../core/numeric/instant.js';
import type { Api } from '../sources/finances/selling-partner/apis.js';

/** What a backfill or a sync is asked for. */
export interface LoadArguments {
  /** Names; empty for the default set. */
  readonly pipelines: readonly string[];
  /** Whose default set, if that is to be said. */
  readonly api?: Api | undefined;
  readonly lake: string;
  readonly account: string;
  readonly range?: Window | undefined;
  /** Where the user's own pipelines are defined, if that was said. */
  readonly pipelineFolder?: string | undefined;
  /** Undefined: the embedded service. */
  readonly endpoint: string | undefined;
}

/** The command line of a backfill, to be pasted into a shell. */
export function backfillCommand(given: LoadArguments & { readonly range: Window }): string {
  return loadCommand('backfill', given);
}

/** The same of a backfill or a sync; without a range it takes its own. */
export function loadCommand(
  command: 'backfill' | 'sync',
  { pipelines, api, lake, account, range, endpoint, pipelineFolder }: LoadArguments,
): string {
  const words = [
    ...['ledgerlake', command, ...pipelines, '--lake', lake, '--account', account],
    ...(api === undefined ? [] : ['--api', api]),
    ...(pipelineFolder === undefined ? [] : ['--pipelines', pipelineFolder]),
    ...(endpoint === undefined ? [] : ['--endpoint', endpoint]),
    ...(range === undefined ? [] : ['--from', instantText(range.start), '--to', instantText(range.end)]),
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
