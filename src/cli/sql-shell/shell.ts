import type { CompleterResult } from 'node:readline';
import { createInterface, type Interface } from 'node:readline/promises';
import { resolve } from 'node:path';
import { LedgerlakeError, usageError } from '../../core/errors.js';
import { writeText, type Output } from '../../core/text/sink.js';
import { printable } from '../../core/printable.js';
import { dotCommand } from './dot-commands.js';
import { completePath, readTextFile } from '../../core/io/files.js';
import { historyLines, openHistory, type ShellHistory } from './history-file.js';
import { StatementReader } from '../../core/duckdb/sql-statements.js';
import { typedFile, suggestions, type CompletionNames } from './tab-completion.js';
import type { Readable, Writable } from 'node:stream';
import type { Session } from './session.js';

export interface ShellOptions {
  readonly session: Session;
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Output;
  readonly errorOutput: Writable;
  /** Reads the names that Tab completes; called while no statement runs. */
  readonly catalog: () => Promise<CompletionNames>;
  /** History file of a terminal; undefined: none. */
  readonly historyFile?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const prompt = 'ledgerlake> ';
const greeting = 'DuckDB over the lake: .help for commands, .quit to leave.\n';
/** Printed for a command within a statement. */
const continuationNotice = 'This line is now part of the statement: ; ends it, Ctrl-C cancels it.\n';

/** Whether a name has no control characters: other names are not completed. */
const isPrintable = (name: string): boolean => printable(name) === name;

/**
 * Runs statements and commands from the input until its end or `.quit`, and prints each result at once. On a terminal it has a
 * prompt, a history and completion, Ctrl-C cancels, and the exit code is 0. The failure of a statement is reported on the error
 * output, and the next one is run. Without a terminal the exit code is then 1, and the end of the input ends the last statement.
 */
export async function runShell(options: ShellOptions): Promise<0 | 1> {
  const warn = (line: string): Promise<boolean> => writeText(options.errorOutput, [`${line}\n`]);
  const history = options.input.isTTY === true ? await openHistory(options.historyFile, warn) : undefined;
  const shell = new Shell(options, history);
  try {
    return await shell.run();
  } finally {
    shell.close();
  }
}

/** What follows a line. `unread`: the output has no reader. */
type Next = 'read-on' | 'quit' | 'unread';

class Shell {
  readonly #options: ShellOptions;
  readonly #isInteractive: boolean;
  /** Receives the prompts: standard error where the results go to a file. */
  readonly #screen: Writable;
  /** Undefined without a terminal. */
  readonly #history: ShellHistory | undefined;
  readonly #readline: Interface;
  readonly #typedLines: AsyncIterable<string>;
  readonly #reader = new StatementReader();
  /** Number of typed lines that are not processed. */
  #waiting = 0;
  /** Cancels the line that is being processed. */
  #cancel = new AbortController();
  #catalog: Promise<CompletionNames> | undefined;
  /** Whether the last input was a Ctrl-C with nothing to cancel: a second one leaves the shell. */
  #isLeaving = false;
  #failures = 0;
  /** The files that are being read, each by the one before it. */
  readonly #files: string[] = [];

  constructor(options: ShellOptions, history: ShellHistory | undefined) {
    const { input, output, errorOutput } = options;
    this.#options = options;
    this.#history = history;
    this.#isInteractive = input.isTTY === true;
    this.#screen = output.isTTY === true ? output : errorOutput;
    this.#readline = this.#openLines();
    // A closed terminal ends the input.
    input.on('error', () => {
      this.close();
    });
    // Lines that arrive before the iterator exists would be lost.
    this.#typedLines = this.#readline[Symbol.asyncIterator]();
    this.#readline.on('history', (entries: string[]) => history?.recallFrom(entries));
    this.#readline.on('line', () => {
      this.#isLeaving = false;
      this.#waiting++;
    });
    this.#readline.on('SIGINT', () => {
      this.#interrupt();
    });
  }

  /** Processes the input line by line. Resolves to the exit code; 0 once the output has no reader. */
  async run(): Promise<0 | 1> {
    const { signal } = this.#options;
    if (this.#isInteractive) await writeText(this.#screen, [greeting]);
    this.#prompt();
    for await (const line of this.#typedLines) {
      const next = await this.#process(line);
      if (next !== 'read-on') return next === 'quit' ? this.#exitCode : 0;
      this.#waiting--;
      if (this.#cancel.signal.aborted) this.#cancel = new AbortController();
      this.#prompt();
    }
    if (signal?.aborted === true)
      throw new LedgerlakeError('STOPPED', 'the shell was stopped', { cause: signal.reason });
    if (this.#isInteractive) await writeText(this.#screen, ['\n']);
    const remainder = this.#isInteractive ? undefined : this.#reader.rest();
    if (remainder !== undefined && !(await this.#attempt(() => this.#run(remainder)))) return 0;
    return this.#exitCode;
  }

  close(): void {
    this.#readline.close();
  }

  get #exitCode(): 0 | 1 {
    return this.#failures > 0 && !this.#isInteractive ? 1 : 0;
  }

  #openLines(): Interface {
    const { input, signal } = this.#options;
    const stopping = signal && { signal };
    if (!this.#isInteractive) return createInterface({ input, terminal: false, crlfDelay: Infinity, ...stopping });
    return createInterface({
      input,
      output: this.#screen,
      terminal: true,
      prompt,
      history: this.#history?.newestFirst ?? [],
      historySize: historyLines,
      removeHistoryDuplicates: true,
      completer: (line) => this.#complete(line).catch((): CompleterResult => [[], line]),
      ...stopping,
    });
  }

  #prompt(): void {
    if (!this.#isInteractive) return;
    this.#readline.setPrompt(this.#reader.pending ? '...> '.padStart(prompt.length) : prompt);
    this.#readline.prompt();
  }

  /** The completions of a line. */
  async #complete(line: string): Promise<CompleterResult> {
    const file = this.#reader.pending ? undefined : typedFile(line);
    if (file !== undefined) return [(await completePath(file)).filter(isPrintable), file];
    // DuckDB runs one query at a time.
    if (this.#waiting > 0) return [[], line];
    this.#catalog ??= this.#options.catalog();
    const { words, typed } = suggestions(this.#reader.text + line, await this.#catalog);
    return [words.filter(isPrintable), typed];
  }

  /** Ctrl-C: cancels the running statement, else drops the typed lines, else leaves the shell the second time. */
  #interrupt(): void {
    const lines = this.#readline;
    const isTyping = this.#reader.pending || lines.line !== '';
    if (this.#waiting > 0 && !this.#cancel.signal.aborted) {
      this.#cancel.abort(new LedgerlakeError('SQL', 'the statement was cancelled'));
    } else if (this.#waiting === 0 && isTyping) {
      // Moves to the end of the line, and deletes everything before it.
      lines.write(null, { ctrl: true, name: 'e' });
      lines.write(null, { ctrl: true, name: 'u' });
      this.#reader.rest();
      this.#history?.forget();
      this.#screen.write('^C\n');
      this.#prompt();
    } else if (this.#isLeaving) this.close();
    else {
      this.#isLeaving = true;
      this.#screen.write('^C\nPress Ctrl-C again, or Ctrl-D, to leave.\n');
      this.#prompt();
    }
  }

  /** Runs the command or the statements that a line completes. */
  async #process(line: string): Promise<Next> {
    const typedCommand = commandIn(line);
    const history = this.#files.length === 0 ? this.#history : undefined;
    if (typedCommand !== undefined && !this.#reader.pending) {
      await history?.add(line, true);
      const [, name = '', argument = ''] = /^(\S*)\s*(.*)$/.exec(typedCommand.replace(/[\s;]+$/, '')) ?? [];
      if (name === 'quit' || name === 'exit') return 'quit';
      if (name === 'read') {
        let next: Next = 'read-on';
        const isRead = await this.#attempt(async () => {
          next = await this.#readFile(argument);
          return true;
        });
        return isRead ? next : 'unread';
      }
      const context = { ...this.#options, run: (statement: string) => this.#run(statement) };
      return (await this.#attempt(() => dotCommand(context, name, argument))) ? 'read-on' : 'unread';
    }
    const statements = this.#reader.push(line);
    await history?.add(line, !this.#reader.pending);
    for (const statement of statements) if (!(await this.#attempt(() => this.#run(statement)))) return 'unread';
    if (history !== undefined && this.#reader.pending && typedCommand !== undefined)
      await writeText(this.#screen, [continuationNotice]);
    return 'read-on';
  }

  /** Runs the lines of a file as those of the input, up to a Ctrl-C. */
  async #readFile(path: string): Promise<Next> {
    if (path === '') throw usageError('expected the name of a file after .read, got none');
    const file = resolve(path);
    if (this.#files.includes(file)) throw usageError(`expected a file that does not read itself, got ${path}`);
    const text = await readTextFile(path, 'statements');
    this.#files.push(file);
    try {
      for (const line of text.split(/\r?\n/)) {
        const next = await this.#process(line);
        if (next !== 'read-on') return next;
        if (this.#cancel.signal.aborted) return 'read-on';
      }
      const remainder = this.#reader.rest();
      const isRead = remainder === undefined || (await this.#attempt(() => this.#run(remainder)));
      return isRead ? 'read-on' : 'unread';
    } finally {
      this.#reader.rest();
      this.#files.pop();
    }
  }

  async #run(statement: string): Promise<boolean> {
    const { session, signal } = this.#options;
    // The query of a completion ends first; the statement may change the names.
    await this.#catalog?.catch(() => undefined);
    this.#catalog = undefined;
    const cancelOrStop = signal === undefined ? this.#cancel.signal : AbortSignal.any([signal, this.#cancel.signal]);
    return session.run(statement, cancelOrStop);
  }

  /** Runs a step and reports its failure. Resolves to false once the output has no reader. */
  async #attempt(step: () => Promise<boolean>): Promise<boolean> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code === 'STOPPED') throw error;
      this.#failures++;
      const message = error.code === 'SQL' ? error.message : printable(error.message);
      return writeText(this.#options.errorOutput, [`${message}\n`]);
    }
  }
}

/** The command of a line: after a dot, or `exit`, `help` or `quit`, which other shells have without a dot. */
function commandIn(line: string): string | undefined {
  return /^\s*(exit|help|quit)[\s;]*$/i.exec(line)?.[1]?.toLowerCase() ?? /^\s*\.(.*)$/.exec(line)?.[1];
}
