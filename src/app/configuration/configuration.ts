import { apis } from '../../sources/finances/finances-apis.js';
import { LedgerlakeError, messageOf, usageError } from '../../core/errors.js';
import { scan } from '../../core/json/scan.js';
import { kind, Tape } from '../../core/json/tape.js';
import { faultLine } from '../../core/text/fault-line.js';
import { withoutComments } from './without-comments.js';
import { z } from 'zod';
import { readInstant } from '../../core/numeric/instant.js';
import { accountForm, accountPattern, regionNames } from './account.js';
import { Secret } from '../../engine/auth/secret.js';
import { isTokenAddress, tokenAddress, isBaseAddress } from '../../engine/http/address.js';
import { exportFormats } from '../export/export-formats.js';
import { sseAlgorithms } from '../../lake/store/store.js';
import { logFormats } from '../../observe/log/plain-log.js';
import { object, text } from '../../core/text/schema-nodes.js';
import { mostRetentionHours } from '../../core/windows.js';

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

function number(expected: string): z.ZodNumber {
  return z.number({ error: expected });
}

function whole(expected: string, least: number): z.ZodNumber {
  return number(expected).int(expected).min(least, expected);
}

/** A secret as text, or the variable or file that contains it. */
function secretSource() {
  const expected = 'a text, {"env": "NAME"} or {"file": "PATH"}';
  return z.union(
    [
      text(expected).transform((value) => new Secret(value)),
      object(expected, { env: text(expected).describe('Name of the environment variable that contains it') }),
      object(expected, { file: text(expected).describe('File that contains it, relative to the folder of this one') }),
    ],
    { error: expected },
  );
}

function secret(about: string) {
  return secretSource().optional().describe(about);
}

const instant = 'an ISO 8601 date or instant such as "2025-01-31"';
const rate = 'a number greater than 0';
const burst = 'a whole number from 1';
const margin = 'a number of minutes from 2 to 1440';
const life = 'a number of minutes greater than 0';
const gigabytes = 'a number of gigabytes greater than 0';
const days = 'a whole number of days from 1';
const everyDays = 'a number of days from 0';
const retention = `a whole number of hours from 0 to ${mostRetentionHours}`;
const port = 'a port from 0 to 65535';
const accountName = `a name of ${accountForm}`;
const variableName = 'the name of a variable in capital letters, digits and _';
const base = 'a base address such as "https://host" or "http://127.0.0.1:8080/prefix"';

const lookBack = object('an object with `days` and `everyDays`', {
  days: whole(days, 1).describe('How many days back are read again'),
  everyDays: number(everyDays).min(0, everyDays).describe('Interval in days; 0: on each run'),
});

const settings = object('an object of settings', {
  lake: text('a folder or "s3://BUCKET/PREFIX"').describe('The lake: a folder, or s3://BUCKET/PREFIX'),
  account: z.string({ error: accountName }).regex(accountPattern, accountName),
  from: z
    .string({ error: instant })
    .refine((value) => readInstant(value) !== undefined, { error: instant })
    .describe('First instant to load, ISO 8601 in UTC'),
  rate: number(rate)
    .positive(rate)
    .describe('Requests per second for each operation, until the service announces its rate'),
  burst: whole(burst, 1).describe('Requests that each operation may send at once'),
  marginMinutes: number(margin)
    .min(2, margin)
    .max(1440, margin)
    .describe('How many minutes before the present ranges end'),
  tokenLifeMinutes: number(life).positive(life).describe("Assumed lifetime of the service's NextToken, in minutes"),
  journal: text('a folder').describe('Folder for pages of unfinished slices'),
  cache: text('a folder').describe('Folder for copies of the files of lakes on S3; in your cache folder by default'),
  cacheGigabytes: number(gigabytes).positive(gigabytes).describe('What they may have together; 10 by default'),
  pipelines: text('a folder').describe('Folder with definitions of custom pipelines'),
  api: z
    .enum(apis, { error: `one of ${apis.join(', ')}` })
    .describe('API whose pipelines run if none is named: v0 by default'),
  lookBack: z
    .array(lookBack, { error: 'a list of {"days", "everyDays"}' })
    .describe('What `sync` reads again, and how often'),
  retentionHours: whole(retention, 0)
    .max(mostRetentionHours, retention)
    .describe('How many hours replaced files stay; 0: they are deleted at once'),
  export: z
    .array(z.enum(exportFormats, { error: `one of ${exportFormats.join(', ')}` }), {
      error: `a list of ${exportFormats.join(', ')}`,
    })
    .describe('What runs write for other engines at their end'),
  sse: z
    .enum(sseAlgorithms, { error: `one of ${sseAlgorithms.join(', ')}` })
    .describe('What new objects of a lake on S3 are encrypted with; as the bucket has it by default'),
  kmsKey: text('the id or ARN of a key of KMS').describe('Key of KMS for `sse`: its id or ARN'),
  logFormat: z.enum(logFormats, { error: `one of ${logFormats.join(', ')}` }).describe('Format of the log'),
  metricsPort: whole(port, 0).max(65_535, port).describe('Port of the metrics for Prometheus; 0: any free port'),
  metricsHost: text('an address').describe('Address of the metrics; 127.0.0.1 by default'),
  metricsFile: text('a file').describe(
    'File for the metrics at the end of a run, for the node exporter; {account} in its name stands for the account',
  ),
}).partial();

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
  settings: settings.describe('Settings; the command line and the environment override them'),
  accounts: z
    .record(z.string().regex(accountPattern, accountName), account, 'an object of accounts by name')
    .describe('Sellers, by the name of their folder in the lake'),
}).partial();

type ConfigurationFile = z.output<typeof configurationSchema>;
type FileSettings = NonNullable<ConfigurationFile['settings']>;
type FileAccount = NonNullable<ConfigurationFile['accounts']>[string];

/** The length of a look-back in `days`, and how often a sync does it: after `everyDays`; 0: with each run. */
export type LookBackRule = NonNullable<FileSettings['lookBack']>[number];
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
