import { appendFile, chmod, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { messageOf } from '../../core/errors.js';
import { makeFolders, replaceFile } from '../../core/io/files.js';

/** So many lines are kept. */
export const historyLines = 1000;
/** Longer lines are pasted data: they would make the file large. */
const longestLine = 10_000;

/** Where what was typed into the shell is kept: the user's folder for state (XDG Base Directory Specification). */
export function historyPath(environment: Readonly<Record<string, string | undefined>>): string {
  const set = environment['XDG_STATE_HOME'] ?? '';
  const state = isAbsolute(set) ? set : join(homedir(), '.local', 'state');
  return join(state, 'ledgerlake', 'sql_history');
}

/** What was typed into this shell and earlier ones. */
export interface ShellHistory {
  /** What earlier shells left. */
  readonly newestFirst: string[];
  /** Sets the list that the arrows go through, the newest line first. */
  recallFrom(entries: string[]): void;
  /**
   * Takes a line; with `ended` it is the last one of its statement, which is kept then. In the arrows' list it replaces its lines
   * where it can be written on one line.
   */
  add(line: string, ended: boolean): Promise<void>;
  /** Drops the lines of a statement that hasn't ended. */
  forget(): void;
}

/**
 * Opens the history, for nobody else to read, and cuts it to `historyLines`. Lines of statements that make a secret of
 * DuckDB's aren't kept, nor, as in other shells, what begins with a blank. A file that can't be written is reported once, and
 * the shell goes on without.
 */
export async function openHistory(path: string | undefined, warn: (line: string) => unknown): Promise<ShellHistory> {
  let kept = path;
  const orWarn = async <T>(use: (path: string) => Promise<T>): Promise<T | undefined> => {
    try {
      return kept === undefined ? undefined : await use(kept);
    } catch (error) {
      kept = undefined;
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
      await orWarn((file) => append(file, lines));
    },
    forget: () => {
      typed = [];
    },
  };
}

/** A statement on one line, or its lines where one ends in a comment or within quotes: joined they would mean something else. */
function onOneLine(lines: readonly string[]): readonly string[] {
  const isBroken = (line: string) =>
    line.includes('--') || [`'`, '"', '$$'].some((quote) => line.split(quote).length % 2 === 0);
  if (lines.length === 1 || lines.some(isBroken)) return lines;
  const [first = '', ...rest] = lines;
  return [[first.trimEnd(), ...rest.map((line) => line.trim())].filter((line) => line !== '').join(' ')];
}

/** Replaces the lines of a statement, the newest of the list but for what was typed ahead, with the whole statement. */
function replaceLines(recallable: string[], typed: readonly string[], statement: string): void {
  const lines = typed.filter((line) => line.trim() !== '').toReversed();
  const at = recallable.indexOf(lines[0] ?? '');
  const isThere = at >= 0 && lines.every((line, index) => recallable[at + index] === line);
  if (isThere) recallable.splice(at, lines.length, statement);
}

/** The lines, oldest first. */
async function readHistory(path: string): Promise<readonly string[]> {
  await makeFolders(dirname(path), 0o700);
  await appendFile(path, '', { mode: 0o600 });
  // It may have been made, or copied, with other rights.
  await chmod(path, 0o600);
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  const kept = lines.slice(-historyLines);
  if (kept.length < lines.length) {
    await replaceFile(path, kept.map((line) => `${line}\n`).join(''), 0o600);
  }
  return kept;
}

async function append(path: string, lines: readonly string[]): Promise<void> {
  if (/\bsecret\b/i.test(lines.join(' ')) || lines[0]?.startsWith(' ') === true) return;
  const kept = lines.filter((line) => line.trim() !== '' && line.length <= longestLine);
  if (kept.length > 0) await appendFile(path, kept.map((line) => `${line}\n`).join(''), { mode: 0o600 });
}
