import { keptResult, type CommandResult, type SetFailedResult } from '../../src/app/command-result.js';

/** What the command line shows of a command that has ended. */
export interface Ended {
  /** Its text, and after it its summary as a line of JSON; empty where it has no result. */
  readonly printed: string;
  /** The summary as a program reads it; undefined where it has no result. */
  readonly summary: unknown;
  /** Why it failed; undefined: it didn't. */
  readonly failure: unknown;
}

/** Runs a command. Never throws. */
export async function ended(run: (setFailedResult: SetFailedResult) => Promise<CommandResult>): Promise<Ended> {
  const { setFailedResult, failed } = keptResult({ summary: {} });
  try {
    return { ...shown(await run(setFailedResult)), failure: undefined };
  } catch (failure) {
    const { text, summary } = failed();
    return { ...(text === undefined ? { printed: '', summary: undefined } : shown({ text, summary })), failure };
  }
}

function shown({ text, summary }: CommandResult): Pick<Ended, 'printed' | 'summary'> {
  const json = JSON.stringify(summary);
  return { printed: text === '' ? json : `${text}\n${json}`, summary: JSON.parse(json) };
}

/** Awaits a command. Throws why it failed. */
export async function succeeded(command: Promise<CommandResult>): Promise<Omit<Ended, 'failure'>> {
  return shown(await command);
}
