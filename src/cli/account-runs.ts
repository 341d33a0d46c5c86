import type { RunSummary } from '../app/results.js';
import { formatCount, formatSpan } from '../core/text/amounts.js';
import { alignedLines } from '../core/text/width.js';
import { variableOf } from '../core/environment.js';
import { usageError } from '../core/errors.js';
import { printable } from '../core/printable.js';
import { accountPlaceholder } from '../app/configuration/metrics-file.js';
import { servesMetrics, type LiveView, type OneOfSeveral } from './listener.js';
import { readParallel } from './commands/load-commands.js';
import { printResult, type CommandArguments, type CommandDefinition } from './options/command-definition.js';
import { readSettings } from './options/command-settings.js';

/** The end of a command for one account. */
export interface AccountRun {
  readonly exitCode: number;
  /** The object of the run, whether `--json` prints it or not. */
  readonly summary: object;
}

interface AccountsCommand {
  readonly args: CommandArguments;
  readonly command: CommandDefinition;
  readonly signal: AbortSignal;
  /** Runs the command for one account. Never rejects. */
  readonly run: (args: CommandArguments, oneOfSeveral: OneOfSeveral) => Promise<AccountRun>;
}

/**
 * Runs a command for several accounts, as many of them side by side as `--parallel` says, else in turn: each has a separate quota,
 * and the failure of one doesn't stop the others. Results are printed in the order of the accounts. Resolves to the exit code of
 * all: 2 only where every account ends with 2.
 */
export async function runAccounts(
  accounts: readonly string[],
  { args, command, signal, run }: AccountsCommand,
): Promise<number> {
  refuseSharedOptions(args, accounts, command);
  const parallel = await sideBySideOf(args, command);
  // A name that is wrong is found before the first of the others is loaded.
  if (args.text('account') !== undefined) {
    for (const account of accounts) await readSettings(args.withAccount(account), { sendsRequests: false });
  }
  const isText = !args.flag('json') && !args.flag('quiet') && (args.text('format') ?? 'table') === 'table';
  const printTitle = (account: string): void => {
    if (isText) printResult(`${account === accounts[0] ? '' : '\n'}${account}`);
  };
  const runs = new Map<string, AccountRun>();
  const reported = new Set<string>();
  const live: LiveView = {};
  const waiting = [...accounts];
  const next = (): string | undefined => (signal.aborted ? undefined : waiting.shift());
  if (parallel === 1) {
    for (let account = next(); account !== undefined; account = next()) {
      printTitle(account);
      runs.set(account, await run(args.withAccount(account), { reported, live, print: printResult }));
    }
  } else {
    const texts = new Map<string, string[]>(accounts.map((account) => [account, []]));
    const unprinted = [...accounts];
    const printEnded = (): void => {
      for (let [first] = unprinted; first !== undefined && runs.has(first); [first] = unprinted) {
        printTitle(first);
        texts.get(first)?.forEach(printResult);
        unprinted.shift();
      }
    };
    // A crash ends the process while results are kept.
    const printRest = (): void => {
      for (const account of unprinted) texts.get(account)?.forEach(printResult);
    };
    // Each run listens to the end and to the signals of the process.
    process.setMaxListeners(process.getMaxListeners() + 2 * parallel);
    process.once('exit', printRest);
    // On a terminal results would break into the view of the accounts that still run.
    const isHeldBack = process.stdout.isTTY && process.stderr.isTTY;
    const work = async (): Promise<void> => {
      for (let account = next(); account !== undefined; account = next()) {
        const own = texts.get(account);
        const print = (text: string) => void own?.push(text);
        runs.set(account, await run(args.withAccount(account), { reported, live, print }));
        if (!isHeldBack) printEnded();
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    process.off('exit', printRest);
    printEnded();
  }
  const failed = accounts.filter((account) => runs.get(account)?.exitCode !== 0);
  if (isText) {
    const isLoad = command.name !== 'plan' && !args.flag('dry-run');
    if (isLoad) printResult(`\n${accountLines(accounts, runs).join('\n')}`);
    const done = `${accounts.length - failed.length} of ${accounts.length} accounts ${isLoad ? 'loaded' : 'estimated'}`;
    printResult(`\n${done}${failed.length === 0 ? '' : `; not done: ${failed.join(', ')}`}`);
  }
  if (failed.length === 0) return 0;
  return failed.every((account) => runs.get(account)?.exitCode === 2) && failed.length === accounts.length ? 2 : 1;
}

/** How many accounts run side by side. Those that serve metrics run in turn, as they share the port. Throws a USAGE error. */
async function sideBySideOf(args: CommandArguments, command: CommandDefinition): Promise<number> {
  if (command.options['parallel'] === undefined) return 1;
  const parallel = readParallel(args);
  return (await servesMetrics(args, command)) ? 1 : parallel;
}

/** The accounts in a table, and what the run of each has done. */
function accountLines(accounts: readonly string[], runs: ReadonlyMap<string, AccountRun>): string[] {
  const rows = accounts.map((account) => {
    const run = runs.get(account);
    const summary: Partial<RunSummary> = run?.summary ?? {};
    const { error, lag_seconds: lag, seconds } = summary;
    const pipelines = Object.values(summary.pipelines ?? {});
    const result = run === undefined ? 'not begun' : run.exitCode === 0 ? 'done' : (error?.code ?? 'failed');
    return [
      printable(account),
      result,
      formatCount(pipelines.reduce((sum, { requests }) => sum + requests, 0)),
      formatCount(pipelines.reduce((sum, { events }) => sum + events, 0)),
      lag == null ? '' : formatSpan(lag * 1000),
      seconds === undefined ? '' : formatSpan(seconds * 1000),
    ];
  });
  return alignedLines([['account', 'result', 'requests', 'events', 'age', 'time'], ...rows]);
}

/**
 * Throws a USAGE error for what several accounts can't share: orders, which belong to one account, CSV, whose header would
 * repeat, and a metrics file, which each account would replace.
 */
function refuseSharedOptions(
  args: CommandArguments,
  accounts: readonly string[],
  { options }: CommandDefinition,
): void {
  const format = args.text('format') ?? '';
  const singleAccountOption =
    args.text('orders') !== undefined ? '--orders' : format.startsWith('csv') ? `--format ${format}` : '';
  if (singleAccountOption !== '') {
    const alternative = singleAccountOption === '--orders' ? '' : ', or choose --format ndjson';
    throw usageError(
      `expected one account with ${singleAccountOption}, got ${accounts.join(', ')}; name it with --account${alternative}`,
    );
  }
  const file = args.text('metrics-file') ?? variableOf(process.env, 'LEDGERLAKE_METRICS_FILE');
  if (options['metrics-file'] === undefined || file === undefined || file.includes(accountPlaceholder)) return;
  throw usageError(
    `expected ${accountPlaceholder} in the name of the metrics file of ${accounts.length} accounts, got ${file}; write ` +
      `ledgerlake-${accountPlaceholder}.prom, for example`,
  );
}
