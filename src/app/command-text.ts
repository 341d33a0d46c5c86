import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Window } from '../core/windows.js';
import { dateOrInstant } from '../core/numeric/instant.js';
import { loadCommands } from '../engine/run/load-options.js';
import { formatCount } from '../core/text/amounts.js';
import { shellWord } from '../core/text/shell-word.js';
import type { Api } from '../sources/finances/api-names.js';

/** The arguments of a printed load command. Those that are undefined it doesn't name. */
export interface LoadArguments {
  /** Names of pipelines; empty: the default set. */
  readonly pipelines: readonly string[];
  readonly api?: Api | undefined;
  readonly lake: string;
  readonly account: string;
  readonly range?: Window | undefined;
  /** The ids of orders, which the command reads from standard input. */
  readonly orders?: readonly string[] | undefined;
  /** The folder of custom pipelines. */
  readonly pipelineFolder?: string | undefined;
  /** Undefined: the embedded service, or one that is configured. */
  readonly endpoint: string | undefined;
  /** The configuration file. */
  readonly config?: string | undefined;
  /** Whether it reads again what is loaded. */
  readonly refresh?: boolean;
}

/** The program's name in printed commands: with `npx` where npx runs it, or where it isn't on the PATH. */
export function programOf(environment: Readonly<Record<string, string | undefined>>, started = ''): string {
  const { npm_command: command, npm_lifecycle_script: script = '', PATH: path = '' } = environment;
  const isByNpx = command === 'exec' && /^\W?ledgerlake\b/.test(script);
  const isFound = () => path.split(delimiter).some((folder) => existsSync(join(folder, 'ledgerlake')));
  return isByNpx || (/[\\/]node_modules[\\/]\.bin[\\/]/.test(started) && !isFound()) ? 'npx ledgerlake' : 'ledgerlake';
}

/** The program's name in the commands that this process prints. */
export const program = programOf(process.env, process.argv[1]);

/** A command line of these words, quoted for a shell. */
export function programCommand(words: readonly string[]): string {
  return `${program} ${words.map(shellWord).join(' ')}`;
}

/** The command line of a command that takes the options of a backfill, quoted for a shell. */
export function loadCommand(
  command: 'backfill' | 'backfill --dry-run' | 'plan --probe' | 'sync',
  { pipelines, api, lake, account, range, orders, endpoint, pipelineFolder, config, refresh }: LoadArguments,
): string {
  const named = {
    lake,
    account,
    api,
    pipelines: pipelineFolder,
    endpoint,
    config,
    ...(range && { from: dateOrInstant(range.start), to: dateOrInstant(range.end) }),
    orders: orders && '-',
  };
  const options = Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  const flags = refresh === true ? ['--refresh'] : [];
  const line = programCommand([...command.split(' '), ...pipelines, ...options, ...flags]);
  return orders === undefined ? line : `printf '%s\\n' ${orders.map(shellWord).join(' ')} | ${line}`;
}

/** The options that a command repeats in the commands that it prints. */
export const scopeOptions = ['lake', 'account', 'endpoint', 'pipelines', 'config'] as const;

/** Their values; undefined: the user did not give the option. */
export type CommandScope = Readonly<Partial<Record<(typeof scopeOptions)[number], string | undefined>>>;

/** The commands that messages suggest to those who read a lake, with the lake that they read. */
const readCommands = ['status', 'verify', 'repair', 'log', 'sql', 'report', 'compact', 'rebuild', 'doctor'];

function scopeOptionsOf(name: string): readonly (keyof CommandScope)[] {
  if (loadCommands.some((command) => command === name)) return scopeOptions;
  return readCommands.includes(name) ? ['lake', 'config'] : [];
}

/** A command with the options of a scope that it lacks, quoted for a shell. */
export function commandIn(scope: CommandScope, command: string): string {
  const [, name = ''] = /\bledgerlake (\w+)/.exec(command) ?? [];
  const added = scopeOptionsOf(name).flatMap((option) => {
    const value = scope[option];
    return value === undefined || `${command} `.includes(` --${option} `) ? [] : [`--${option}`, shellWord(value)];
  });
  return [command.replace(/^ledgerlake\b/, program), ...added].join(' ');
}

/** A text in which each command in backticks has the options of a scope. */
export function withCommandsIn(scope: CommandScope, text: string): string {
  return text.replaceAll(
    /`((?:npx )?ledgerlake \w[^`]*)`/g,
    (_, command: string) => `\`${commandIn(scope, command)}\``,
  );
}

/** Windows of an account that a pipeline is to load, in order. */
export interface LoadingArguments {
  readonly pipeline: string;
  readonly account: string;
  readonly windows: readonly Window[];
}

/** The command that loads an account's windows; it names no lake. */
export function loadingCommand({ pipeline, account, windows }: LoadingArguments): string {
  const [first, last] = [windows[0], windows.at(-1)];
  const range = first && last ? ` --from ${dateOrInstant(first.start)} --to ${dateOrInstant(last.end)}` : '';
  return `ledgerlake backfill ${pipeline} --account ${shellWord(account)}${range}`;
}

/** Spans that are listed; the rest is counted. */
const mostSpans = 3;

/** `2026-11-01 to 2026-11-23, 2026-12-01 to 2026-12-04 and 2 more`. */
export function spansText(windows: readonly Window[]): string {
  const listed = windows
    .slice(0, mostSpans)
    .map(({ start, end }) => `${dateOrInstant(start)} to ${dateOrInstant(end)}`);
  const more = windows.length - listed.length;
  return `${listed.join(', ')}${more === 0 ? '' : ` and ${formatCount(more)} more`}`;
}
