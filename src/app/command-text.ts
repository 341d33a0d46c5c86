import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { dayMs, type Window } from '../core/windows.js';
import { isoInstant } from '../core/numeric/instant.js';
import { formatCount } from '../core/text/amounts.js';
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
  /** The configuration file, if that was said. */
  readonly config?: string | undefined;
}

/** How commands that are printed call the program: by npx where that runs it, or the shell does not find it on the PATH. */
export function programOf(environment: Readonly<Record<string, string | undefined>>, started = ''): string {
  const { npm_command: command, npm_lifecycle_script: script = '', PATH: path = '' } = environment;
  const isByNpx = command === 'exec' && /^\W?ledgerlake\b/.test(script);
  const isFound = () => path.split(delimiter).some((folder) => existsSync(join(folder, 'ledgerlake')));
  return isByNpx || (/[\\/]node_modules[\\/]\.bin[\\/]/.test(started) && !isFound()) ? 'npx ledgerlake' : 'ledgerlake';
}

/** How the commands of this process call it. */
export const program = programOf(process.env, process.argv[1]);

/** A command of these words, to be pasted into a shell. */
export function programCommand(words: readonly string[]): string {
  return `${program} ${words.map(shellWord).join(' ')}`;
}

/** The command line of a backfill, to be pasted into a shell. */
export function backfillCommand(args: LoadArguments & { readonly range: Window }): string {
  return loadCommand('backfill', args);
}

/** The same of a command that takes the options of a backfill; without a range it takes its own. */
export function loadCommand(
  command: 'backfill' | 'backfill --dry-run' | 'plan --probe' | 'sync',
  { pipelines, api, lake, account, range, endpoint, pipelineFolder, config }: LoadArguments,
): string {
  const words = [
    ...[...command.split(' '), ...pipelines, '--lake', lake, '--account', account],
    ...(api === undefined ? [] : ['--api', api]),
    ...(pipelineFolder === undefined ? [] : ['--pipelines', pipelineFolder]),
    ...(endpoint === undefined ? [] : ['--endpoint', endpoint]),
    ...(config === undefined ? [] : ['--config', config]),
    ...(range === undefined ? [] : ['--from', instantText(range.start), '--to', instantText(range.end)]),
  ];
  return programCommand(words);
}

/** The options of a command that the commands which it prints repeat; undefined: the user did not give it. */
export interface CommandScope {
  readonly lake?: string | undefined;
  readonly config?: string | undefined;
  readonly account?: string | undefined;
  readonly endpoint?: string | undefined;
  /** The folder of custom pipelines. */
  readonly pipelines?: string | undefined;
}

const reading: ReadonlySet<string> = new Set(['status', 'verify', 'sql', 'report', 'compact', 'rebuild']);
const loading: ReadonlySet<string> = new Set(['backfill', 'sync', 'plan']);

/** The options of its scope that a command has. */
function scopeOptions(name: string): readonly (keyof CommandScope)[] {
  if (loading.has(name)) return ['lake', 'account', 'endpoint', 'pipelines', 'config'];
  return reading.has(name) ? ['lake', 'config'] : [];
}

/** A command with the options of a scope that it lacks, to be pasted into a shell. */
export function commandIn(scope: CommandScope, command: string): string {
  const [, name = ''] = /\bledgerlake (\w+)/.exec(command) ?? [];
  const added = scopeOptions(name).flatMap((option) => {
    const value = scope[option];
    return value === undefined || `${command} `.includes(` --${option} `) ? [] : [`--${option}`, shellWord(value)];
  });
  return [command.replace(/^ledgerlake\b/, program), ...added].join(' ');
}

/** A text whose commands in backticks can be pasted into a shell as they are. */
export function withCommandsIn(scope: CommandScope, text: string): string {
  return text.replaceAll(
    /`((?:npx )?ledgerlake \w[^`]*)`/g,
    (_, command: string) => `\`${commandIn(scope, command)}\``,
  );
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

/** The command that loads windows of an account, which are in order; it names no lake. */
export function loadingCommand(
  pipeline: string,
  { account, windows }: { readonly account: string; readonly windows: readonly Window[] },
): string {
  const [first, last] = [windows[0], windows.at(-1)];
  const range = first && last ? ` --from ${instantText(first.start)} --to ${instantText(last.end)}` : '';
  return `ledgerlake backfill ${pipeline} --account ${shellWord(account)}${range}`;
}

/** Spans that are named; the rest is counted. */
const mostSpans = 3;

/** `2026-11-01 to 2026-11-23, 2026-12-01 to 2026-12-04 and 2 more`. */
export function spansText(windows: readonly Window[]): string {
  const named = windows.slice(0, mostSpans).map(({ start, end }) => `${instantText(start)} to ${instantText(end)}`);
  const more = windows.length - named.length;
  return `${named.join(', ')}${more === 0 ? '' : ` and ${formatCount(more)} more`}`;
}
