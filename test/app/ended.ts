import { CommandError, failureOf, type CommandResult } from '../../src/app/command-result.js';

/** What the command line shows of a command that has ended. */
export interface Ended {
  /** Its text, and after it its summary as a line of JSON; empty where it has no result. */
  readonly printed: string;
  /** The summary as a program reads it; undefined where it has no result. */
  readonly summary: unknown;
  /** Why it failed; undefined: it didn't. */
  readonly failure: unknown;
}

/** Awaits a command. Never throws. */
export async function ended(command: Promise<CommandResult>): Promise<Ended> {
  try {
    return { ...shown(await command), failure: undefined };
  } catch (error) {
    const { text, summary = {} } = error instanceof CommandError ? error : {};
    const failure = failureOf(error);
    return { ...(text === undefined ? { printed: '', summary: undefined } : shown({ text, summary })), failure };
  }
}

function shown({ text, summary }: CommandResult): Pick<Ended, 'printed' | 'summary'> {
  const json = JSON.stringify(summary);
  return { printed: text === '' ? json : `${text}\n${json}`, summary: JSON.parse(json) };
}

/** Awaits a command. Throws why it failed. */
export async function resultOf<Summary extends object>(
  command: Promise<CommandResult<Summary>>,
): Promise<CommandResult<Summary>> {
  try {
    return await command;
  } catch (error) {
    throw failureOf(error);
  }
}

/** What the command line shows of a command that succeeds. Throws why it failed. */
export async function succeeded(command: Promise<CommandResult>): Promise<Omit<Ended, 'failure'>> {
  return shown(await resultOf(command));
}
