import {
  accountPlaceholder,
  checkMetricsFile,
  metricsFileOf,
  refuseSharedFile,
} from '../app/configuration/metrics-file.js';
import type { Clock } from '../core/clock.js';
import { withCommandsIn, type CommandScope } from '../app/command-text.js';
import type { Configuration } from '../app/configuration/configuration.js';
import { accountPattern, demoAccount } from '../app/configuration/account.js';
import { misspeltVariables } from '../app/configuration/misspelt-variables.js';
import { resolveLogSettings, type LogSettings } from '../app/configuration/settings.js';
import { codeOf, messageOf, LedgerlakeError } from '../core/errors.js';
import { replaceFile } from '../core/io/write-file.js';
import { withStoppingEvent, type RunContext } from '../app/context.js';
import type { LogLevel, Emit, RunEvent } from '../core/events/run-event.js';
import { plainLog, type LogFormat } from '../observe/log/plain-log.js';
import { isColoured } from '../core/environment.js';
import type { liveView } from '../observe/live-view/live-view.js';
import { paintIn, paintLevel } from '../observe/live-view/view-lines.js';
import type { CommandDefinition, CommandArguments } from './options/command-definition.js';
import { configurationOf } from './options/command-settings.js';
import { terminalWidth } from '../core/text/sink.js';
import { wrapForTerminal } from '../core/text/width.js';
import { printable, shortenMessage, shortRun } from '../core/printable.js';
import type { CurrentRun } from '../observe/metrics/run-metrics.js';

/** Receives the events of a run: log or live view, metrics. */
interface Listener {
  readonly emit: Emit;
  /** Closes the log and the metrics; never throws. */
  close(): Promise<void>;
}

/** What a run has that is one of several. */
export interface OneOfSeveral {
  /** Usage errors and warnings of other accounts, which are not reported twice. */
  readonly reported: Set<string>;
  /** The live view of all of them, once a run has opened it. */
  readonly live: LiveView;
  /** Prints a result to standard output. */
  readonly print: (text: string) => void;
}

export interface LiveView {
  /** Adds the view of a run. */
  addView?: ReturnType<typeof liveView>;
}

/**
 * Opens the log and the metrics that the command line, the environment and the configuration select, and warns of misspelt
 * variables that other runs haven't reported. Throws a USAGE error for an invalid setting, and where metrics can't be served.
 */
export async function openListener(
  args: CommandArguments,
  command: CommandDefinition,
  { clock, signal }: Pick<RunContext, 'clock' | 'signal'>,
  oneOfSeveral?: OneOfSeveral,
): Promise<Listener> {
  const { reported = new Set<string>(), live } = oneOfSeveral ?? {};
  const configuration = await configurationFor(args, command);
  const { run, ...settings } = await readLogSettings(args, command, configuration);
  const verbosity = { verbose: args.flag('verbose'), quiet: args.flag('quiet') };
  const complete = (text: string): string => withCommandsIn(args.scope(), text);
  // The account of the only run is known once it has started.
  const account = oneOfSeveral && args.text('account');
  const log = await openLog(settings.logFormat, verbosity, clock, { complete, account, live });
  const metrics = await openMetrics(settings, configuration, { run, clock, emit: log.emit }).catch(
    async (error: unknown) => {
      await log.close();
      throw error;
    },
  );
  const emit: Emit = (given) => {
    const event = 'message' in given ? { ...given, message: complete(given.message) } : given;
    log.emit(event);
    metrics?.emit(event);
  };
  for (const misspelt of command.ignoresConfiguration === true ? [] : misspeltVariables(process.env, configuration)) {
    if (!reported.has(misspelt.variable)) emit({ event: 'variable-misspelt', ...misspelt });
    reported.add(misspelt.variable);
  }
  return {
    emit: withStoppingEvent(emit, signal),
    close: async () => {
      await metrics?.close();
      await log.close();
    },
  };
}

/** Whether a command serves its metrics while it runs. */
export async function servesMetrics(args: CommandArguments, command: CommandDefinition): Promise<boolean> {
  const { metricsPort } = await readLogSettings(args, command, await configurationFor(args, command));
  return metricsPort !== undefined;
}

/** The log for errors before a command line is parsed. */
export async function fallbackListener(words: readonly string[], clock: Clock): Promise<Listener> {
  const formatWord = words.findLast((word, at) => words[at - 1] === '--log-format' || word.startsWith('--log-format='));
  const format = formatWord?.replace('--log-format=', '') ?? process.env['LEDGERLAKE_LOG_FORMAT'];
  const verbosity = { verbose: words.includes('--verbose'), quiet: false };
  return openLog(format === 'json' ? 'json' : 'text', verbosity, clock);
}

async function configurationFor(
  args: CommandArguments,
  { options, ignoresConfiguration }: CommandDefinition,
): Promise<Configuration> {
  const isRead = options['config'] !== undefined && ignoresConfiguration !== true;
  return isRead ? configurationOf(args) : { file: undefined, folder: process.cwd(), settings: {}, accounts: new Map() };
}

async function readLogSettings(
  args: CommandArguments,
  { name: command, options }: CommandDefinition,
  configuration: Configuration,
): Promise<LogSettings & { readonly run?: CurrentRun }> {
  const settings = resolveLogSettings(args.texts(), process.env, configuration);
  if (options['metrics-port'] === undefined) return { ...settings, metricsPort: undefined, metricsFile: undefined };
  const { metricsFile } = settings;
  if (options['metrics-file'] === undefined || metricsFile === undefined || args.flag('dry-run')) {
    return { ...settings, metricsFile: undefined };
  }
  refuseSharedFile(configuration, metricsFile);
  const account = await runAccount(args, configuration);
  if (account === undefined && metricsFile.includes(accountPlaceholder)) return { ...settings, metricsFile: undefined };
  const run = { account: account ?? '', command };
  return { ...settings, metricsFile: metricsFileOf(metricsFile, run.account), run };
}

/** The account of a run; undefined where the command line and the configuration name none, or an invalid one. */
async function runAccount(args: CommandArguments, configuration: Configuration): Promise<string | undefined> {
  const [{ accountName }, { accountSettings }] = await Promise.all([
    import('../app/configuration/resolve-account.js'),
    import('../app/configuration/account-settings.js'),
  ]);
  const endpoint = args.text('endpoint');
  try {
    const named = accountName(configuration, process.env, { account: args.text('account'), endpoint });
    const account = named ?? (endpoint === undefined ? demoAccount : undefined);
    if (account === undefined || !accountPattern.test(account)) return undefined;
    // Custom pipelines load any account. Without them an unknown name is mistyped: its metrics file would never be replaced.
    const isAnyName = (args.text('pipelines') ?? configuration.settings.pipelines) !== undefined;
    const isKnown = account === demoAccount || isAnyName || configuration.accounts.has(account);
    const source = endpoint ?? accountSettings(configuration, process.env, account).endpoint;
    return isKnown || source !== undefined ? account : undefined;
  } catch (error) {
    // The command reports the error.
    if (error instanceof LedgerlakeError) return undefined;
    throw error;
  }
}

interface LogOptions {
  /** The account of a run that is one of several. */
  readonly account?: string | undefined;
  readonly live?: LiveView | undefined;
  /** Adds the options of the command line to the commands in a text. */
  readonly complete?: (text: string) => string;
}

/** Opens the log of a command. */
export async function openLog(
  format: LogFormat,
  { verbose, quiet }: { readonly verbose: boolean; readonly quiet: boolean },
  clock: Clock,
  { complete = (text) => text, account, live = {} }: LogOptions = {},
): Promise<Listener> {
  const least: LogLevel = quiet ? 'error' : verbose ? 'debug' : 'info';
  if (format === 'json') {
    const { jsonLog } = await import('../observe/log/json-log.js');
    return {
      emit: jsonLog({ fd: process.stderr.fd, clock, least, account: account ?? null }),
      close: () => Promise.resolve(),
    };
  }
  const terminal = process.stderr;
  const paint = paintIn(isColoured(process.env, terminal.isTTY));
  const painted = paintLevel(paint);
  let source = account === undefined ? '' : `[${printable(account)}]`;
  const formatted = (level: LogLevel, line: string): string =>
    painted(level, wrapForTerminal(withSource(source, complete(line)), terminalWidth(terminal)));
  const isLive = terminal.isTTY && !quiet && process.env['TERM'] !== 'dumb' && !isTrue(process.env['CI']);
  if (!isLive) {
    const write = (line: string): void => {
      terminal.write(`${line}\n`);
    };
    const log = plainLog(write, { verbose, least, paint: formatted });
    const emit: Emit = (event) => {
      // Several runs may write to one file.
      if (event.event === 'run-started') source = sourceText(event);
      log(event);
    };
    return { emit, close: () => Promise.resolve() };
  }
  const { liveView } = await import('../observe/live-view/live-view.js');
  live.addView ??= liveView({ terminal, process, clock, paint });
  const view = live.addView();
  // The view shows a run's events itself: the log adds warnings only.
  let hasStarted = false;
  const lines = (lowest: LogLevel): Emit =>
    plainLog(
      (line) => {
        view.above(line);
      },
      { verbose, least: lowest, paint: formatted },
    );
  const [beforeRun, duringRun] = [lines(least), lines(verbose ? least : 'warn')];
  return {
    emit: (event) => {
      if (event.event === 'run-started') hasStarted = true;
      view.emit(event);
      (hasStarted && event.event !== 'stopping' ? duringRun : beforeRun)(event);
    },
    close: () => {
      view.close();
      return Promise.resolve();
    },
  };
}

/** A line with its run: in front, but of a failure behind its message, so that it still begins with the program's name. */
function withSource(source: string, line: string): string {
  if (source === '') return line;
  return line.startsWith('ledgerlake: ') ? line.replace(/(?=\n|$)/, ` ${source}`) : `${source} ${line}`;
}

/** The run of a line: its account, and the beginning of its id. */
function sourceText({ account, run }: Extract<RunEvent, { event: 'run-started' }>): string {
  const words = [account === null ? [] : printable(account), run === null ? [] : shortRun(run)].flat();
  return words.length === 0 ? '' : `[${words.join(' ')}]`;
}

/** Whether the variable CI is set: CI services set it to `true` or `1`. */
function isTrue(text: string | undefined): boolean {
  return text !== undefined && text !== '' && text !== '0' && text !== 'false';
}

async function openMetrics(
  { metricsPort, metricsHost, metricsFile }: LogSettings,
  configuration: Configuration,
  { run, clock, emit }: { readonly run: CurrentRun | undefined; readonly clock: Clock; readonly emit: Emit },
): Promise<Listener | undefined> {
  if (metricsPort === undefined && metricsFile === undefined) return undefined;
  const [{ createRunMetrics }, { serveMetrics }] = await Promise.all([
    import('../observe/metrics/run-metrics.js'),
    import('../observe/metrics/metrics-server.js'),
  ]);
  if (metricsFile !== undefined) await checkMetricsFile(configuration, metricsFile, run?.account ?? '');
  const metrics = createRunMetrics(clock, run);
  const onFault = (fault: unknown): void => {
    emit({ event: 'metrics-not-served', reason: messageOf(fault) });
  };
  const address = metricsPort === undefined ? undefined : { host: metricsHost, port: metricsPort, clock, onFault };
  const server = address && (await serveMetrics(metrics, address));
  if (server !== undefined) emit({ event: 'metrics-served', address: server.address });
  let hasRun = false;
  return {
    emit: (event) => {
      // A run that fails before it starts also writes its metrics.
      hasRun ||= event.event === 'run-started' || (event.event === 'failed' && run !== undefined);
      metrics.emit(event);
    },
    close: async () => {
      server?.close();
      if (metricsFile === undefined || !hasRun) return;
      try {
        await replaceFile(metricsFile, await metrics.text());
      } catch (error) {
        emit({ event: 'metrics-not-written', file: metricsFile, reason: messageOf(error) });
      }
    },
  };
}

/** The event of a failed command, with details and stack for `--verbose`. */
export function failedEvent(error: unknown): Extract<RunEvent, { event: 'failed' }> {
  const stacks: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) stacks.push(cause.stack ?? cause.message);
  return {
    event: 'failed',
    code: codeOf(error),
    message: shortenMessage(messageOf(error)),
    exitCode: error instanceof LedgerlakeError ? error.exitCode : 1,
    details: error instanceof LedgerlakeError ? (error.details ?? null) : null,
    stack: stacks.length === 0 ? null : stacks.join('\n'),
  };
}

/** The failure of a command. Commands in its message get the options of the command line. */
export function failureIn(scope: CommandScope, error: unknown): ReturnType<typeof failedEvent> {
  const failure = failedEvent(error);
  return { ...failure, message: withCommandsIn(scope, failure.message) };
}
