import { programCommand } from '../command-text.js';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  nearestRegion,
  regionNames,
  type Region,
  readAccountName,
  defaultTokenEndpoint,
} from '../configuration/account.js';
import { defaultLake } from '../configuration/settings.js';
import { messageOf, usageError } from '../../core/errors.js';
import { outputError } from '../../core/text/sink.js';
import type { CommandContext } from '../context.js';
import { configurationFile } from '../configuration/read-configuration.js';
import { printable } from '../../core/printable.js';
import { variableSuffix } from '../../core/environment.js';
import { accountVariables } from '../configuration/account-settings.js';

interface InitOptions {
  /** The file to write. */
  readonly file: string;
  /** Undefined: asked for, or the example's. */
  readonly account: string | undefined;
  readonly region: string | undefined;
  /** Asks the user; the answer, or undefined where there is none. Left out where there is nobody to ask. */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
}

const example: FirstAccount = { account: 'my-shop', region: 'eu' };

/**
 * `ledgerlake init`: writes a first configuration, explained, and prints what to do next. Throws a USAGE error for a name or
 * a region that isn't one, and for a file that is there already or can't be written: it is never overwritten, nor left
 * half-written
 */
export async function init(
  { file, account, region, ask }: InitOptions,
  { print, log }: Pick<CommandContext, 'print' | 'log'>,
): Promise<void> {
  const chosen = {
    account: await answered(
      { ask, log, question: 'Name of the account', given: account, preset: example.account },
      readAccountName,
    ),
    region: await answered(
      { ask, log, question: `Region (${regionNames.join(', ')})`, given: region, preset: example.region },
      readRegion,
    ),
  };
  await createFile(file, commentedConfiguration({ ...chosen, schema: schemaPath(file) }), {
    option: '--config',
    instead: 'add a further account to its "accounts"',
  });
  const given = file === configurationFile ? [] : ['--config', file];
  const command = (...words: readonly string[]): string => printable(programCommand([...words, ...given]));
  print(
    [
      `Wrote ${printable(file)}. Next:`,
      '',
      `  1. set ${secretVariables(chosen.account).join(',\n     ')}`,
      `  2. ${command('accounts', 'check')}`,
      `  3. ${command('plan', '--probe')}`,
      `  4. ${command('backfill')}`,
      ...(existsSync(defaultLake)
        ? [
            '',
            `Commands read the lake data/${chosen.account} from now on; --lake ${defaultLake} is the one from before.`,
          ]
        : []),
    ].join('\n'),
  );
}

interface Question extends Pick<CommandContext, 'log'> {
  readonly ask: InitOptions['ask'];
  readonly question: string;
  readonly given: string | undefined;
  readonly preset: string;
}

/** What was given, or what is answered to a question, which is asked again where the answer is refused. */
async function answered<T>({ ask, log, question, given, preset }: Question, read: (text: string) => T): Promise<T> {
  if (given !== undefined || ask === undefined) return read(given ?? preset);
  for (;;) {
    const answer = await ask(`${question} [${preset}]: `);
    try {
      return read(answer === undefined || answer.trim() === '' ? preset : answer.trim());
    } catch (error) {
      log(messageOf(error));
    }
  }
}

function readRegion(text: string): Region {
  const known = regionNames.find((region) => region === text);
  if (known !== undefined) return known;
  const nearest = nearestRegion(text);
  const hint = nearest === undefined ? 'choose one' : `did you mean ${nearest}?`;
  throw usageError(`expected a region (${regionNames.join(', ')}), got ${JSON.stringify(text)}: ${hint}`);
}

/**
 * Writes a file that isn't there yet; `option` names another place, `instead` says what else helps. Throws a USAGE error where
 * it is, or can't be written.
 */
export async function createFile(
  file: string,
  text: string,
  { option, instead = 'move it' }: { readonly option: string; readonly instead?: string },
): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') {
      throw usageError(
        `expected no file ${file}, there is one: it is not overwritten; ${instead}, or name another ${option}`,
      );
    }
    // A full disk leaves a part: it is this run's own, as `wx` opened it.
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EIO') {
      await rm(file, { force: true });
      throw outputError(error);
    }
    throw usageError(
      `expected a place where ${file} can be written (${messageOf(error)}): name another with ${option}`,
    );
  }
}

/** Who a first configuration is for. */
interface FirstAccount {
  readonly account: string;
  readonly region: Region;
  /** Where the JSON Schema is, seen from the file; undefined: it isn't there. */
  readonly schema?: string | undefined;
}

/** In the folder of a project that has the package, and in a checkout of this one. */
const schemas = ['./node_modules/ledgerlake/ledgerlake.schema.json', './ledgerlake.schema.json'];

/** The JSON Schema for a configuration, seen from its folder; undefined where an editor would look for it in vain. */
function schemaPath(file: string): string | undefined {
  return schemas.find((schema) => existsSync(resolve(dirname(file), schema)));
}

/** The variables that a first configuration takes the secrets of an account from. */
function secretVariables(account: string): readonly string[] {
  const { clientId, clientSecret, refreshToken } = accountVariables;
  return [clientId, clientSecret, refreshToken].map((name) => `${name}${variableSuffix(account)}`);
}

/**
 * A first `ledgerlake.config.json`, every setting explained. It is valid as it is. What is commented out has its default and its
 * comma, before a line that stays: each such line, and all of them, can be switched on.
 */
export function commentedConfiguration({ account, region, schema }: FirstAccount): string {
  const [clientId = '', clientSecret = '', refreshToken = ''] = secretVariables(account);
  return `{
  // The command line and the environment (LEDGERLAKE_LAKE, LEDGERLAKE_RATE …) go before this file.
${schema === undefined ? '' : `  "$schema": ${JSON.stringify(schema)},\n`}
  "settings": {
    // Whose events, where several accounts stand below.
    // "account": ${JSON.stringify(account)},
    // First instant to load; left out: 90 days before the end. Upstream keeps two years.
    // "from": "2025-01-01",
    // The first guess of the quota, for each operation: requests a second, and at once. The service's own word goes before it.
    // "rate": 0.5,
    // "burst": 30,
    // How many minutes loaded ranges stay behind the present, 2 at least.
    // "marginMinutes": 5,
    // How many minutes the service's NextToken is taken to live.
    // "tokenLifeMinutes": 3,
    // Folder for pages of unfinished slices; left out: _journal in the lake's folder, for S3 in your cache.
    // "journal": "data/journal",
    // Folder with definitions of custom pipelines (docs/pipelines.md).
    // "pipelines": "pipelines",
    // Format of the log: text, or json, a line for each event (docs/logs.md).
    // "logFormat": "text",
    // Metrics for Prometheus, while a run goes on and at its end (docs/metrics.md); left out: none.
    // "metricsPort": 9464,
    // "metricsHost": "127.0.0.1",
    // "metricsFile": "ledgerlake-{account}.prom",
    // Whose pipelines run where none is named: v0, 2024-06-19, or both (docs/transactions.md).
    // "api": "v0",
    // What sync reads again for what arrived late: the last days, and how many days go by in between (0: on each run).
    // "lookBack": [{ "days": 2, "everyDays": 0 }, { "days": 14, "everyDays": 7 }, { "days": 35, "everyDays": 30 }],
    // How many hours files stay that runs have replaced, for engines that read older versions (docs/engines.md).
    // "retentionHours": 0,
    // What runs write for other engines at their end: "iceberg", "symlinks" (docs/engines.md).
    // "export": [],
    // Where the Delta tables are: a folder, seen from this file, or s3://BUCKET/PREFIX. Not that of the made-up seller (data/lake).
    "lake": ${JSON.stringify(`data/${account}`)}
  },

  "accounts": {
    // A name of yours: it is the folder account=… in the lake, and what --account takes.
    ${JSON.stringify(account)}: {
      // The service's base address, instead of the region's.
      // "endpoint": "https://host",
      // Where the refresh token is turned into access tokens.
      // "tokenEndpoint": ${JSON.stringify(defaultTokenEndpoint)},
      // Secrets of custom pipelines, by the variables that their definitions name (docs/pipelines.md).
      // "secrets": { "SHOP_TOKEN": { "file": "secrets/shop-token" } },
      // Which public endpoint serves it: ${regionNames.join(', ')}.
      "region": ${JSON.stringify(region)},
      // Secrets: { "env": "VARIABLE" } or { "file": "PATH" }, seen from this file. A plain text works, too: keep such a file to yourself.
      "clientId": { "env": ${JSON.stringify(clientId)} },
      "clientSecret": { "env": ${JSON.stringify(clientSecret)} },
      "refreshToken": { "env": ${JSON.stringify(refreshToken)} }
    }
  }
}
`;
}
