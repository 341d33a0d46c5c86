import { CommandError, failedSummary, failureOf, type CommandResult } from '../app/command-result.js';
import type { Emit } from '../core/events/run-event.js';
import { terminalWidth } from '../core/text/sink.js';
import { wrapForTerminal } from '../core/text/width.js';
import type { AccountRun } from './account-runs.js';
import { failureIn, type OneOfSeveral } from './listener.js';
import { printResult, type CommandArguments } from './options/command-definition.js';

interface RunOutputOptions {
  /** Receives the failure. */
  readonly emit: Emit;
  /** Receives the object of the run, whether it is printed or not. */
  readonly onSummary: (account: string | undefined, summary: object) => void;
  /** Left out: the only run of the command. */
  readonly oneOfSeveral?: OneOfSeveral | undefined;
}

/** What a run of a command prints: its texts, or with `--json` one object; and its failure. */
export class RunOutput {
  readonly #args: CommandArguments;
  readonly #options: RunOutputOptions;

  constructor(args: CommandArguments, options: RunOutputOptions) {
    this.#args = args;
    this.#options = options;
  }

  print(text: string): void {
    if (this.#args.flag('json') || this.#args.flag('quiet')) return;
    this.#print(wrapForTerminal(text, terminalWidth(process.stdout)));
  }

  /** Prints how the command has ended; of one that has printed its result itself there is its exit code. */
  ended(result: CommandResult | number): AccountRun {
    if (typeof result === 'number') {
      const summary = { ...this.#given, status: result === 0 ? 'done' : 'failed' };
      return this.#ended(result, summary);
    }
    const { text, summary, exitCode = 0 } = result;
    if (text !== '') this.print(text);
    this.#printObject(summary);
    return this.#ended(exitCode, summary);
  }

  failed(error: unknown): AccountRun {
    const { emit, oneOfSeveral } = this.#options;
    const { text, summary: known } = error instanceof CommandError ? error : { text: undefined, summary: this.#given };
    if (text !== undefined && text !== '') this.print(text);
    const failure = failureIn(this.#args.scope(), failureOf(error));
    const { code, message, exitCode } = failure;
    // A wrong command line or file concerns all accounts, the failure of a run its own.
    if (exitCode !== 2 || oneOfSeveral?.reported.has(message) !== true) emit(failure);
    oneOfSeveral?.reported.add(message);
    const summary = failedSummary(known, { code, message });
    // A wrong command line has no object, unless other accounts have theirs.
    if (exitCode !== 2 || text !== undefined || oneOfSeveral !== undefined) this.#printObject(summary);
    return this.#ended(exitCode, summary);
  }

  /** The summary of a run of which nothing is known but its options. */
  get #given(): object {
    return { account: this.#args.text('account'), lake: this.#args.text('lake'), pipelines: {} };
  }

  #ended(exitCode: number, summary: object): AccountRun {
    this.#options.onSummary(this.#args.text('account'), summary);
    return { exitCode, summary };
  }

  #printObject(object: object): void {
    if (this.#args.flag('json')) this.#print(JSON.stringify(object));
  }

  #print(text: string): void {
    (this.#options.oneOfSeveral?.print ?? printResult)(text);
  }
}
