import { createInterface, type CompleterResult } from 'node:readline';
import { LedgerlakeError } from '../../core/errors.js';
import { writeText, type Output } from '../../core/text/sink.js';
import { printable } from '../../core/printable.js';
import { dotCommand } from './dot-commands.js';
import { fileNames } from '../../core/io/files.js';
import { openHistory } from './history-file.js';
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
  const { session, destination, input, output, errorOutput, signal } = options;
  const interactive = input.isTTY === true;
  // Prompts stay out of results that go to a file.
  const screen = output.isTTY === true ? output : errorOutput;
  const warn = (line: string): Promise<boolean> => writeText(errorOutput, [`${line}\n`]);
  const history = interactive ? await openHistory(options.historyFile, warn) : undefined;
  const reader = new StatementReader();
  /** Lines that were typed and aren't done with, and what cancels the one at work. */
  let waiting = 0;
  let cancel = new AbortController();
  let catalog: Promise<Catalog> | undefined;
  const completed = async (line: string): Promise<CompleterResult> => {
    const file = reader.pending ? undefined : typedFile(line);
    if (file !== undefined) return [(await fileNames(file)).filter(isPrintable), file];
    // DuckDB runs one query at a time.
    if (waiting > 0) return [[], line];
    catalog ??= options.catalog();
    const { words, typed } = suggestions(reader.text + line, await catalog);
    return [words.filter(isPrintable), typed];
  };
  const lines = createInterface({
    input,
    ...(interactive
      ? {
          output: screen,
          terminal: true,
          prompt,
          history: history?.newestFirst ?? [],
          historySize: 1000,
          removeHistoryDuplicates: true,
          completer: (line: string, done: (error: Error | null, result?: CompleterResult) => void) => {
            completed(line).then(
              (result) => {
                done(null, result);
              },
              () => {
                done(null, [[], line]);
              },
            );
          },
        }
      : { terminal: false, crlfDelay: Infinity }),
    ...(signal && { signal }),
  });
  let recallable: string[] = [];
  /** Lines of the statement that is typed, the newest first. */
  let typed: string[] = [];
  lines.on('history', (entries) => {
    recallable = entries;
  });
  /** Replaces the lines of a statement, the newest in the arrows' history, with the whole statement. */
  const remember = async (line: string, ended: boolean): Promise<void> => {
    if (line.trim() !== '') typed.unshift(line);
    const [whole, ...others] = (await history?.add(line, ended)) ?? [];
    if (!ended) return;
    const parts = typed;
    typed = [];
    // Lines that were typed ahead come before them.
    const at = recallable.indexOf(parts[0] ?? '');
    const isThere = parts.every((part, index) => recallable[at + index] === part);
    if (whole !== undefined && others.length === 0 && isThere) recallable.splice(at, parts.length, whole);
  };
  // A terminal that was closed is an end of the input.
  input.on('error', () => {
    lines.close();
  });
  // Lines that come before somebody asks for them would be lost.
  const typedLines = lines[Symbol.asyncIterator]();
  const ask = (): void => {
    if (!interactive) return;
    lines.setPrompt(reader.pending ? '...> '.padStart(prompt.length) : prompt);
    lines.prompt();
  };
  /** Whether the last that was typed is a Ctrl-C where there was nothing to cancel: one that came too late doesn't leave. */
  let isLeaving = false;
  lines.on('line', () => {
    isLeaving = false;
    waiting++;
  });
  lines.on('SIGINT', () => {
    if (waiting > 0 && !cancel.signal.aborted) {
      cancel.abort(new LedgerlakeError('SQL', 'the statement was cancelled'));
    } else if (waiting === 0 && (reader.pending || lines.line !== '')) {
      // To the end of the line, and what stands before it away.
      lines.write(null, { ctrl: true, name: 'e' });
      lines.write(null, { ctrl: true, name: 'u' });
      reader.rest();
      history?.forget();
      typed = [];
      screen.write('^C\n');
      ask();
    } else if (isLeaving) lines.close();
    else {
      isLeaving = true;
      screen.write('^C\nPress Ctrl-C again, or Ctrl-D, to leave.\n');
      ask();
    }
  });

  const run = async (statement: string): Promise<boolean> => {
    // What Tab has asked for comes to its end first; a statement may make other names.
    await catalog?.catch(() => undefined);
    catalog = undefined;
    const cancelOrStop = signal === undefined ? cancel.signal : AbortSignal.any([signal, cancel.signal]);
    return destination.whole(() => session.run(statement, cancelOrStop));
  };
  let failures = 0;
  /** False where nobody reads the output any more. */
  const attempt = async (step: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof LedgerlakeError) || error.code === 'STOPPED') throw error;
      failures++;
      return warn(error.code === 'SQL' ? error.message : printable(error.message));
    }
  };

  try {
    if (interactive) await writeText(screen, ['DuckDB over the lake: .help for commands, .quit to leave.\n']);
    ask();
    for await (const line of typedLines) {
      const typedCommand = commandIn(line);
      const command = reader.pending ? undefined : typedCommand;
      if (command === undefined) {
        const statements = reader.push(line);
        await remember(line, !reader.pending);
        for (const statement of statements) if (!(await attempt(() => run(statement)))) return 0;
        if (interactive && reader.pending && typedCommand !== undefined) await writeText(screen, [continuationNotice]);
      } else {
        await remember(line, true);
        const [, name = '', argument = ''] = /^(\S*)\s*(.*)$/.exec(command.replace(/[\s;]+$/, '')) ?? [];
        if (name === 'quit' || name === 'exit') return failures > 0 && !interactive ? 1 : 0;
        if (!(await attempt(() => dotCommand({ ...options, run }, name, argument)))) return 0;
      }
      waiting--;
      if (cancel.signal.aborted) cancel = new AbortController();
      ask();
    }
    if (signal?.aborted === true)
      throw new LedgerlakeError('STOPPED', 'the shell was stopped', { cause: signal.reason });
    if (interactive) await writeText(screen, ['\n']);
    const remainder = interactive ? undefined : reader.rest();
    if (remainder !== undefined && !(await attempt(() => run(remainder)))) return 0;
    return failures > 0 && !interactive ? 1 : 0;
  } finally {
    lines.close();
  }
}

/** The command in a line that no statement goes on with: behind a dot, or one that other shells have without it. */
function commandIn(line: string): string | undefined {
  return /^\s*(exit|help|quit)[\s;]*$/i.exec(line)?.[1]?.toLowerCase() ?? /^\s*\.(.*)$/.exec(line)?.[1];
}
