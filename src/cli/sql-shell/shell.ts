import type { CompleterResult } from 'node:readline';
import { createInterface, type Interface } from 'node:readline/promises';
import { LedgerlakeError } from '../../core/errors.js';
import { writeText, type Output } from '../../core/text/sink.js';
import { printable } from '../../core/printable.js';
import { dotCommand } from './dot-commands.js';
import { completePath } from '../../core/io/files.js';
import { historyLines, openHistory, type History } from './history-file.js';
import { StatementReader } from '../../core/duckdb/sql-statements.js';
import { typedFile, suggestions, type Catalog } from './tab-completion.js';
import type { Readable, Writable } from 'node:stream';
import type { Destination, Session } from './session.js';

export interface ShellOptions {
  readonly session: Session;
  readonly destination: Destination;
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Output;
  readonly errorOutput: Writable;
  /** The names that Tab completes; asked for when no statement runs. */
  readonly catalog: () => Promise<Catalog>;
  /** Keeps what is typed on a terminal; undefined: nothing does. */
  readonly historyFile?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

const prompt = 'ledgerlake> ';
const greeting = 'DuckDB over the lake: .help for commands, .quit to leave.\n';
/** For a command that was typed into a statement. */
const continuationNotice = 'This line is now part of the statement: ; ends it, Ctrl-C cancels it.\n';

/** The names of files and columns that a terminal may be shown as they are: the others aren't offered. */
const isPrintable = (name: string): boolean => printable(name) === name;

/**
 * Reads statements and commands from the input until its end or `.quit`, each printed as it comes. On a terminal it
 * prompts, keeps a history, completes, and cancels on Ctrl-C; leaving it is no failure. A statement that fails is reported
 * on the error output and the next one is read; off a terminal the exit code is then 1, and a last statement without a
 * semicolon is run at the end of the input.
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

class Shell {
  readonly #options: ShellOptions;
  readonly #isInteractive: boolean;
  /** Prompts stay out of results that go to a file. */
  readonly #screen: Writable;
  /** Undefined off a terminal. */
  readonly #history: History | undefined;
  readonly #lines: Interface;
  readonly #typedLines: AsyncIterable<string>;
  readonly #reader = new StatementReader();
  /** Lines that were typed and aren't processed to their end. */
  #waiting = 0;
  /** Cancels what is processed. */
  #cancel = new AbortController();
  #catalog: Promise<Catalog> | undefined;
  /** Whether the last that was typed is a Ctrl-C where there was nothing to cancel: one that came too late doesn't leave. */
  #isLeaving = false;
  #failures = 0;

  constructor(options: ShellOptions, history: History | undefined) {
    const { input, output, errorOutput } = options;
    this.#options = options;
    this.#history = history;
    this.#isInteractive = input.isTTY === true;
    this.#screen = output.isTTY === true ? output : errorOutput;
    this.#lines = this.#openLines();
    // A terminal that was closed is an end of the input.
    input.on('error', () => {
      this.close();
    });
    // Lines that come before somebody asks for them would be lost.
    this.#typedLines = this.#lines[Symbol.asyncIterator]();
    this.#lines.on('history', (entries: string[]) => history?.recallFrom(entries));
    this.#lines.on('line', () => {
      this.#isLeaving = false;
      this.#waiting++;
    });
    this.#lines.on('SIGINT', () => {
      this.#interrupt();
    });
  }

  /** Processes line by line. The exit code; 0 where nobody reads the output any more. */
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
    this.#lines.close();
  }

  get #exitCode(): 0 | 1 {
    return this.#failures > 0 && !this.#isInteractive ? 1 : 0;
  }

  #openLines(): Interface {
    const { input, signal } = this.#options;
    const stopping = signal && { signal };
    if (!this.#isInteractive) return createInterface({ input, terminal: false, crlfDelay: Infinity, ...stopping });
    return createInterface({
      ...{ input, output: this.#screen, terminal: true, prompt },
      ...{ history: this.#history?.newestFirst ?? [], historySize: historyLines, removeHistoryDuplicates: true },
      completer: (line) => this.#complete(line).catch((): CompleterResult => [[], line]),
      ...stopping,
    });
  }

  #prompt(): void {
    if (!this.#isInteractive) return;
    this.#lines.setPrompt(this.#reader.pending ? '...> '.padStart(prompt.length) : prompt);
    this.#lines.prompt();
  }

  /** What Tab offers behind a line. */
  async #complete(line: string): Promise<CompleterResult> {
    const file = this.#reader.pending ? undefined : typedFile(line);
    if (file !== undefined) return [(await completePath(file)).filter(isPrintable), file];
    // DuckDB runs one query at a time.
    if (this.#waiting > 0) return [[], line];
    this.#catalog ??= this.#options.catalog();
    const { words, typed } = suggestions(this.#reader.text + line, await this.#catalog);
    return [words.filter(isPrintable), typed];
  }

  /** Ctrl-C: cancels what is processed, else drops what is typed, else leaves where it comes twice. */
  #interrupt(): void {
    const lines = this.#lines;
    const isTyping = this.#reader.pending || lines.line !== '';
    if (this.#waiting > 0 && !this.#cancel.signal.aborted) {
      this.#cancel.abort(new LedgerlakeError('SQL', 'the statement was cancelled'));
    } else if (this.#waiting === 0 && isTyping) {
      // To the end of the line, and everything before it deleted.
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

  /** Runs what a line completes. `unread`: nobody reads the output any more. */
  async #process(line: string): Promise<'read-on' | 'quit' | 'unread'> {
    const typedCommand = commandIn(line);
    if (typedCommand !== undefined && !this.#reader.pending) {
      await this.#history?.add(line, true);
      const [, name = '', argument = ''] = /^(\S*)\s*(.*)$/.exec(typedCommand.replace(/[\s;]+$/, '')) ?? [];
      if (name === 'quit' || name === 'exit') return 'quit';
      const context = { ...this.#options, run: (statement: string) => this.#run(statement) };
      return (await this.#attempt(() => dotCommand(context, name, argument))) ? 'read-on' : 'unread';
    }
    const statements = this.#reader.push(line);
    await this.#history?.add(line, !this.#reader.pending);
    for (const statement of statements) if (!(await this.#attempt(() => this.#run(statement)))) return 'unread';
    if (this.#isInteractive && this.#reader.pending && typedCommand !== undefined)
      await writeText(this.#screen, [continuationNotice]);
    return 'read-on';
  }

  async #run(statement: string): Promise<boolean> {
    const { session, destination, signal } = this.#options;
    // A query of Tab's ends first; a statement may make other names.
    await this.#catalog?.catch(() => undefined);
    this.#catalog = undefined;
    const cancelOrStop = signal === undefined ? this.#cancel.signal : AbortSignal.any([signal, this.#cancel.signal]);
    return destination.whole(() => session.run(statement, cancelOrStop));
  }

  /** Reports what a step fails with. False where nobody reads the output any more. */
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

/** The command in a line that no statement goes on with: behind a dot, or one that other shells have without it. */
function commandIn(line: string): string | undefined {
  return /^\s*(exit|help|quit)[\s;]*$/i.exec(line)?.[1]?.toLowerCase() ?? /^\s*\.(.*)$/.exec(line)?.[1];
}
