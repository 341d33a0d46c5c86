import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import { scan } from '../../core/json/scan.js';
import { kind, Tape } from '../../core/json/tape.js';
import { faultLine } from '../../core/text/fault-line.js';
import { z } from 'zod';
import { withoutComments } from './commented-json.js';
import { nameOfAccount, accountPattern, regionNames } from './account.js';
import { Secret } from '../../engine/auth/secret.js';
import { isTokenAddress, tokenAddress, isBaseAddress } from '../../engine/http/address.js';
import { object, schemaNodes, textNode } from '../../core/text/schema-nodes.js';
import { settingDefinitions, type FileSettings, type SettingDefinition } from './setting-definitions.js';

/** What `ledgerlake.config.json` says; without such a file, nothing. */
export interface Configuration {
  /** The file, for messages; undefined where there is none. */
  readonly file: string | undefined;
  /** Whether nobody named it: it lay in the working folder. */
  readonly isDiscovered?: boolean;
  /** The folder from which its relative paths are seen. */
  readonly folder: string;
  readonly settings: FileSettings;
  readonly accounts: ReadonlyMap<string, FileAccount>;
}

/**
 * Parses a configuration: JSON, which may have comments. No message has a value that could be a secret.
 *
 * @throws LedgerlakeError USAGE with file, path, and the expected and the found value; further faults are in the details
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
    const [first = `${file} is not a configuration`, ...others] = parsed.error.issues.map(
      (issue) => `${file}: ${faultLine(issue, value)}`,
    );
    const more = others.length === 0 ? '' : ` (and ${others.length} more: --verbose shows them)`;
    throw new LedgerlakeError('USAGE', `${first}${more}`, others.length === 0 ? {} : { details: others.join('\n') });
  }
  const { settings = {}, accounts = {} } = parsed.data;
  return { file, folder, settings, accounts: new Map(Object.entries(accounts)) };
}

/** @throws LedgerlakeError USAGE for a duplicate key, of which JSON.parse would keep only the last */
function refuseDoubleKeys(tape: Tape, file: string): void {
  for (let node = 0; node < tape.length; node++) {
    if (tape.kind(node) !== kind.object) continue;
    const seen = new Set<string>();
    for (const key of tape.keys(node)) {
      const name = tape.stringValue(key);
      // This key sets the prototype instead of a member.
      if (name === '__proto__' || seen.has(name)) {
        const { line, column } = positionOf(tape.bytes, tape.start(key));
        if (name === '__proto__') throw usageError(`${file}: expected no key __proto__, got one in line ${line}`);
        throw usageError(`${file}: expected each key once, got one again in line ${line}, column ${column}: remove it`);
      }
      seen.add(name);
    }
  }
}

/** The scanner's message with line and column instead of the byte offset. */
function withLine(message: string, bytes: Uint8Array): string {
  return message.replace(/at byte (\d+)/, (_, byte: string) => {
    const { line, column } = positionOf(bytes, Number(byte));
    return `in line ${line}, column ${column}`;
  });
}

function positionOf(bytes: Uint8Array, at: number): { readonly line: number; readonly column: number } {
  const lines = new TextDecoder().decode(bytes.subarray(0, at)).split('\n');
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
}

/** A secret as text, or the variable or file that contains it. */
function secretSource() {
  const expected = 'a text, {"env": "NAME"} or {"file": "PATH"}';
  return z.union(
    [
      textNode(expected).transform((value) => new Secret(value)),
      object(expected, { env: textNode(expected).describe('Name of the environment variable that contains it') }),
      object(expected, {
        file: textNode(expected).describe('File that contains it, relative to the folder of this one'),
      }),
    ],
    { error: expected },
  );
}

function secret(about: string) {
  return secretSource().optional().describe(about);
}

const variableName = 'the name of a variable in capital letters, digits and _';
const base = 'a base address such as "https://host" or "http://127.0.0.1:8080/prefix"';

/** The schema of each setting. */
const settingNodes = Object.entries<SettingDefinition>(settingDefinitions).map(([name, { schema, about }]) => {
  const node = schema(schemaNodes);
  return [name, about === undefined ? node : node.describe(about)] as const;
});

const account = object('an object with the settings of an account', {
  region: z.enum(regionNames, { error: `one of ${regionNames.join(', ')}` }).describe('Region of the public endpoint'),
  endpoint: z
    .string({ error: base })
    .refine(isBaseAddress, { error: base })
    .describe("The service's base address; overrides the region's"),
  tokenEndpoint: z
    .string({ error: tokenAddress })
    .refine(isTokenAddress, { error: tokenAddress })
    .describe('Where the refresh token is exchanged for access tokens'),
  clientId: secret('Client id of the application that the seller authorised'),
  clientSecret: secret('Its client secret'),
  refreshToken: secret("The seller's refresh token for the application"),
  secrets: z
    .record(
      z.string().regex(/^[A-Z][A-Z0-9_]{0,62}$/, variableName),
      secretSource(),
      'an object of secrets by the name of their variable',
    )
    .describe('Secrets of custom pipelines by the variable that their definitions name'),
}).partial();

/** `ledgerlake.config.json`. A secret that it has as text becomes a `Secret`. */
const configurationSchema = object('an object with `settings` and `accounts`', {
  $schema: z.string({ error: 'a text' }).describe('Where the JSON Schema of this file is'),
  settings: object('an object of settings', Object.fromEntries(settingNodes))
    .partial()
    .describe('Settings; the command line and the environment override them'),
  accounts: z
    .record(z.string().regex(accountPattern, nameOfAccount), account, 'an object of accounts by name')
    .describe('Sellers, by the name of their folder in the lake'),
}).partial();

type ConfigurationFile = z.output<typeof configurationSchema>;
type FileAccount = NonNullable<ConfigurationFile['accounts']>[string];

/** A secret, or the environment variable or file that contains it. */
export type SecretSource = NonNullable<FileAccount['clientId']>;

/** The JSON Schema of the file, for editors: draft 2020-12. */
export function configurationJsonSchema(): object {
  return {
    title: 'Configuration of Ledgerlake',
    // An extension that editors such as VS Code support.
    allowComments: true,
    ...z.toJSONSchema(configurationSchema, { io: 'input', target: 'draft-2020-12' }),
  };
}
