import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import { scan } from '../../core/json/scan.js';
import { kind, Tape } from '../../core/json/tape.js';
import { faultLine } from '../../core/text/fault-line.js';
import { configurationSchema, type FileAccount, type FileSettings } from './schema.js';
import { withoutComments } from './without-comments.js';

/** What `ledgerlake.config.json` says; without such a file, nothing. */
export interface Configuration {
  /** The file, for messages; undefined where there is none. */
  readonly file: string | undefined;
  /** Whether nobody named it: it lay in the working folder. */
  readonly wasFound?: boolean;
  /** The folder from which its relative paths are seen. */
  readonly folder: string;
  readonly settings: FileSettings;
  readonly accounts: ReadonlyMap<string, FileAccount>;
}

/**
 * Reads the text of a configuration: JSON, which may have comments. Nothing of its values is in an error that could be a secret.
 *
 * @throws LedgerlakeError USAGE with file, path, what was expected and what came; further faults are in the details
 */
export function parseConfiguration(text: Uint8Array, file: string, folder: string): Configuration {
  let bytes = text;
  const tape = new Tape();
  try {
    bytes = withoutComments(text);
    scan(bytes, tape);
  } catch (error) {
    throw usageError(`${file}: ${withLine(messageOf(error), bytes)}`);
  }
  refuseDoubleKeys(tape, file);
  const value: unknown = JSON.parse(tape.text(0));
  const parsed = configurationSchema.safeParse(value);
  if (!parsed.success) {
    const [first = `${file} is no configuration`, ...others] = parsed.error.issues.map(
      (issue) => `${file}: ${faultLine(issue, value)}`,
    );
    const more = others.length === 0 ? '' : ` (and ${others.length} more: --verbose shows them)`;
    throw new LedgerlakeError('USAGE', `${first}${more}`, others.length === 0 ? {} : { details: others.join('\n') });
  }
  const { settings = {}, accounts = {} } = parsed.data;
  return { file, folder, settings, accounts: new Map(Object.entries(accounts)) };
}

/** Of two equal keys JSON.parse takes the last and says nothing: of two accounts of one name, one would be gone. */
function refuseDoubleKeys(tape: Tape, file: string): void {
  for (let node = 0; node < tape.length; node++) {
    if (tape.kind(node) !== kind.object) continue;
    const seen = new Set<string>();
    for (const key of tape.keys(node)) {
      const name = tape.stringValue(key);
      const { line, column } = placeOf(tape.bytes, tape.start(key));
      // A key of this name never becomes a member like others.
      if (name === '__proto__') throw usageError(`${file}: expected no key __proto__, got one in line ${line}`);
      if (seen.has(name)) {
        throw usageError(`${file}: expected each key once, got one again in line ${line}, column ${column}: remove it`);
      }
      seen.add(name);
    }
  }
}

/** The scanner counts bytes, people count lines. */
function withLine(message: string, bytes: Uint8Array): string {
  return message.replace(/at byte (\d+)/, (_, byte: string) => {
    const { line, column } = placeOf(bytes, Number(byte));
    return `in line ${line}, column ${column}`;
  });
}

function placeOf(bytes: Uint8Array, at: number): { readonly line: number; readonly column: number } {
  const lines = new TextDecoder().decode(bytes.subarray(0, at)).split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}
