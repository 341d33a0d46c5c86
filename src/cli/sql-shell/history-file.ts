import { dirname, isAbsolute, join } from 'node:path';
import { messageOf } from '../../core/errors.js';
import { makeFolders, readPlainFile } from '../../core/io/files.js';
import { homeFolder } from '../../core/io/home-folder.js';
import { appendToFile, replaceFile } from '../../core/io/write-file.js';

/** Largest number of stored lines. */
export const historyLines = 1000;
/** Largest length of a stored line: longer ones are pasted data. */
const longestLine = 10_000;

/** Path of the history file, in the user's folder for state (XDG Base Directory Specification); undefined without a home folder. */
export function historyPath(
  environment: Readonly<Record<string, string | undefined>>,
  home = homeFolder(),
): string | undefined {
  const set = environment['XDG_STATE_HOME'] ?? '';
  const state = isAbsolute(set) ? set : home && join(home, '.local', 'state');
  return state && join(state, 'ledgerlake', 'sql_history');
}

/** The notice of a shell without a history file. */
export const noHistory =
  'The history is not saved, because this user has no home folder; set HOME or XDG_STATE_HOME to a folder to save it.';

/** The lines typed into this shell and into earlier ones. */
export interface ShellHistory {
  /** Lines of earlier shells. */
  readonly newestFirst: string[];
  /** Sets the list that the arrow keys recall, the newest line first. */
  recallFrom(entries: string[]): void;
  /**
   * Adds a line. `ended`: the line is the last one of its statement, which is then stored; in the list of the arrow keys the
   * statement replaces its lines where it fits on one line.
   */
  add(line: string, ended: boolean): Promise<void>;
  /** Drops the lines of an unfinished statement. */
  forget(): void;
}

/**
 * Opens the history file, readable by its owner alone, and shortens it to `historyLines`. Statements that may have a
 * secret are not stored, nor, as in other shells, lines that begin with a space. A file that can't be written is reported once, and
 * the shell continues without it.
 */
export async function openHistory(path: string | undefined, warn: (line: string) => unknown): Promise<ShellHistory> {
  let file = path;
  const orWarn = async <T>(use: (path: string) => Promise<T>): Promise<T | undefined> => {
    try {
      return file === undefined ? undefined : await use(file);
    } catch (error) {
      file = undefined;
      await warn(`The history is not saved (${messageOf(error)}).`);
      return undefined;
    }
  };
  const earlier = (await orWarn(readHistory)) ?? [];
  let recallable: string[] = [];
  let typed: string[] = [];
  return {
    newestFirst: earlier.toReversed(),
    recallFrom: (entries) => {
      recallable = entries;
    },
    add: async (line, ended) => {
      typed.push(line);
      if (!ended) return;
      const lines = onOneLine(typed);
      if (lines.length === 1) replaceLines(recallable, typed, lines[0] ?? '');
      typed = [];
      await orWarn((path) => append(path, lines));
    },
    forget: () => {
      typed = [];
    },
  };
}

/** A statement on one line; its lines where one has a comment or ends within quotes, as joining would change the meaning. */
function onOneLine(lines: readonly string[]): readonly string[] {
  const isBroken = (line: string) =>
    line.includes('--') || [`'`, '"', '$$'].some((quote) => line.split(quote).length % 2 === 0);
  if (lines.length === 1 || lines.some(isBroken)) return lines;
  const [first = '', ...rest] = lines;
  return [[first.trimEnd(), ...rest.map((line) => line.trim())].filter((line) => line !== '').join(' ')];
}

/** Replaces the lines of a statement, the newest of the list except those typed ahead, with the statement. */
function replaceLines(recallable: string[], typed: readonly string[], statement: string): void {
  const lines = typed.filter((line) => line.trim() !== '').toReversed();
  const at = recallable.indexOf(lines[0] ?? '');
  const isThere = at >= 0 && lines.every((line, index) => recallable[at + index] === line);
  if (isThere) recallable.splice(at, lines.length, statement);
}

/** The lines, oldest first. */
async function readHistory(path: string): Promise<readonly string[]> {
  await makeFolders(dirname(path), 0o700);
  await appendToFile(path, '');
  const lines = String(await readPlainFile(path))
    .split('\n')
    .filter((line) => line !== '');
  const newest = lines.slice(-historyLines);
  if (newest.length < lines.length) {
    await replaceFile(path, newest.map((line) => `${line}\n`).join(''), 0o600);
  }
  return newest;
}

/** Words beside which credentials stand: those of DuckDB's secrets and settings, of connection strings and of URLs. */
const secretWords =
  /secret|passw|pwd|token|credential|access_?key|api_?key|private_?key|account_?key|encryption_?key|parquet_key|connection_?string|sas_?url|authorization|bearer|:\/\/[^\s/'"]*@/i;

async function append(path: string, lines: readonly string[]): Promise<void> {
  if (secretWords.test(lines.join(' ')) || lines[0]?.startsWith(' ') === true) return;
  const stored = lines.filter((line) => line.trim() !== '' && line.length <= longestLine);
  if (stored.length > 0) await appendToFile(path, stored.map((line) => `${line}\n`).join(''));
}
