import { programCommand } from '../command-text.js';
import { readExisting, refuseConfigured, withAccount, type ExistingFile } from './added-account.js';
import { existsSync } from 'node:fs';
import { chmod, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  nearestRegion,
  demoAccount,
  regionNames,
  type Region,
  readAccountName,
  defaultTokenEndpoint,
} from '../configuration/account.js';
import { defaultLake } from '../configuration/settings.js';
import { type LedgerlakeError, messageOf, systemCode, usageError } from '../../core/errors.js';
import { replaceFile, writeNewFile } from '../../core/io/write-file.js';
import { outputError } from '../../core/text/sink.js';
import type { CommandContext } from '../context.js';
import { jsonLine } from '../configuration/commented-json.js';
import { configurationFile } from '../configuration/read-configuration.js';
import { printable } from '../../core/printable.js';
import { variableSuffix } from '../../core/environment.js';
import { settingDefinitions, type SettingDefinition } from '../configuration/setting-definitions.js';
import { accountVariables, type SecretKey } from '../configuration/account-settings.js';

interface InitOptions {
  /** The file to write. */
  readonly file: string;
  /** Undefined: ask the user, or take the example's. */
  readonly account: string | undefined;
  readonly region: string | undefined;
  /** Asks the user and resolves to the answer, undefined at the end of the input; left out without a terminal. */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
}

const example: FirstAccount = { account: 'my-shop', region: 'eu' };

/**
 * `ledgerlake init`: writes a first configuration with comments, or adds an account to an existing one, and prints the next steps.
 *
 * @throws LedgerlakeError USAGE for an invalid name or region, for an account that the file has, and as `createFile` and `addAccount`
 */
export async function init(
  { file, account, region, ask }: InitOptions,
  { print, emit }: Pick<CommandContext, 'print' | 'emit'>,
): Promise<void> {
  const existing = account === undefined && ask === undefined ? undefined : await readExisting(file);
  const [nameQuestion, regionQuestion] = [
    existing === undefined ? 'Name of the account' : `Name of the account to add to ${file}`,
    `Region (${regionNames.join(', ')})`,
  ];
  const readName = (text: string): string => {
    const name = readAccountName(text);
    if (name === demoAccount) {
      throw usageError(
        `expected a name of your own for --account, got ${demoAccount}, the synthetic seller; choose another name`,
      );
    }
    if (existing !== undefined) refuseConfigured(name, existing);
    return name;
  };
  const chosen = {
    account: await answered({ ask, emit, question: nameQuestion, given: account, preset: example.account }, readName),
    region: await answered({ ask, emit, question: regionQuestion, given: region, preset: example.region }, readRegion),
  };
  if (existing !== undefined) {
    await addAccount(existing, chosen);
    print(additionText(existing, chosen.account));
    return;
  }
  await createFile(file, commentedConfiguration({ ...chosen, schema: schemaPath(file) }), {
    option: '--config',
    instead: 'add a further account with --account NAME',
  });
  print(
    [
      `Wrote ${printable(file)}. Next:`,
      '',
      ...stepLines(file, chosen.account, []),
      ...(existsSync(defaultLake)
        ? ['', `Commands now use the lake data/${chosen.account}; --lake ${defaultLake} is the previous one.`]
        : []),
    ].join('\n'),
  );
}

/** The next steps. `named`: the words that name the account, where the file has others. */
function stepLines(file: string, account: string, named: readonly string[]): readonly string[] {
  const given = file === configurationFile ? [] : ['--config', file];
  const command = (...words: readonly string[]): string => printable(programCommand([...words, ...named, ...given]));
  return [
    `  1. set ${Object.values(secretSources(account))
      .map(({ env }) => env)
      .join(',\n     ')}`,
    `  2. ${command('accounts', 'check')}`,
    `  3. ${command('plan', '--probe')}`,
    `  4. ${command('backfill')}`,
  ];
}

/** What follows from an account that was added. */
function additionText({ file, configuration: { accounts, settings } }: ExistingFile, account: string): string {
  const [only, ...others] = accounts.keys();
  const isSecond = only !== undefined && others.length === 0;
  return [
    `Added ${account} to ${printable(file)}. Next:`,
    '',
    ...stepLines(file, account, ['--account', account]),
    '',
    `It shares the lake ${printable(settings.lake ?? defaultLake)}, in folders of its own: account=${account}.`,
    ...(isSecond
      ? [
          `Variables without a suffix no longer apply: where ${only} has ${accountVariables.refreshToken}, ` +
            `set ${secretSources(only).refreshToken.env} instead.`,
        ]
      : []),
    ...(settings.account === undefined
      ? []
      : [`The setting \`account\` is ${settings.account}: commands without --account load that one alone.`]),
  ].join('\n');
}

interface Prompt extends Pick<CommandContext, 'emit'> {
  readonly ask: InitOptions['ask'];
  readonly question: string;
  readonly given: string | undefined;
  readonly preset: string;
}

/** The given value, else the answer to a question, which is repeated after an invalid answer. */
async function answered<T>({ ask, emit, question, given, preset }: Prompt, read: (text: string) => T): Promise<T> {
  if (given !== undefined || ask === undefined) return read(given ?? preset);
  for (;;) {
    const answer = await ask(`${question} [${preset}]: `);
    try {
      return read(answer === undefined || answer.trim() === '' ? preset : answer.trim());
    } catch (error) {
      emit({ event: 'message', message: messageOf(error) });
    }
  }
}

function readRegion(text: string): Region {
  const known = regionNames.find((region) => region === text);
  if (known !== undefined) return known;
  const nearest = nearestRegion(text);
  const hint = nearest === undefined ? 'choose one' : `did you mean ${nearest}?`;
  throw usageError(`expected a region (${regionNames.join(', ')}), got ${JSON.stringify(text)}; ${hint}`);
}

/**
 * Creates a file. `option`: the option that names another file; `instead`: another remedy.
 *
 * @throws LedgerlakeError USAGE where the file exists or can't be created; OUTPUT where the disk is full, without a partial file
 */
export async function createFile(
  file: string,
  text: string,
  { option, instead = 'move it' }: { readonly option: string; readonly instead?: string },
): Promise<void> {
  try {
    await writeNewFile(file, text);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') {
      throw usageError(
        `expected no file ${file}, got an existing one, which is not overwritten; ${instead}, or name another ${option}`,
      );
    }
    throw writeFault(file, error, option);
  }
}

/** Adds an account to a configuration, which is replaced as a whole. Throws as `withAccount` and `createFile`. */
async function addAccount(existing: ExistingFile, { account, region }: FirstAccount): Promise<void> {
  const edited = withAccount(existing, account, { region, ...secretSources(account) });
  try {
    // A link stays one.
    const path = await realpath(existing.file);
    const { mode } = await stat(path);
    await replaceFile(path, edited, mode & 0o777);
    // Without what the user's mask takes away.
    await chmod(path, mode & 0o7777);
  } catch (error) {
    throw writeFault(existing.file, error, '--config');
  }
}

function writeFault(file: string, error: unknown, option: string): LedgerlakeError {
  if (['ENOSPC', 'EDQUOT', 'EIO'].includes(systemCode(error) ?? '')) return outputError(error);
  return usageError(
    `expected a path that can be written, got ${file} (${messageOf(error)}); name another with ${option}`,
  );
}

/** The account of a first configuration. */
interface FirstAccount {
  readonly account: string;
  readonly region: Region;
  /** Path of the JSON Schema, relative to the file; undefined: none. */
  readonly schema?: string | undefined;
}

/** The JSON Schema in a project with the package, and in a checkout of this one. */
const schemas = ['./node_modules/ledgerlake/ledgerlake.schema.json', './ledgerlake.schema.json'];

/** The path of the JSON Schema relative to the folder of a configuration; undefined where there is none. */
function schemaPath(file: string): string | undefined {
  return schemas.find((schema) => existsSync(resolve(dirname(file), schema)));
}

/** The secrets of an account in a first configuration. */
function secretSources(account: string) {
  const inVariable = (key: SecretKey) => ({ env: `${accountVariables[key]}${variableSuffix(account)}` });
  return {
    clientId: inVariable('clientId'),
    clientSecret: inVariable('clientSecret'),
    refreshToken: inVariable('refreshToken'),
  };
}

/** The settings of a first configuration. All but the lake, which is the last one, are commented out. */
function settingLines(account: string): string[] {
  const { lake, ...others } = settingDefinitions;
  const values: Readonly<Record<string, unknown>> = { account, lake: `data/${account}` };
  return Object.entries<SettingDefinition>({ ...others, lake }).flatMap(([name, definition]) => {
    const { comment, default: usual, example = usual } = definition;
    const member = `"${name}": ${jsonLine(values[name] ?? example)}`;
    const about = comment === undefined ? [] : [`    // ${comment}`];
    return [...about, name === 'lake' ? `    ${member}` : `    // ${member},`];
  });
}

/**
 * A first `ledgerlake.config.json` with a comment on every setting. It is valid, and stays valid without any of the comment signs
 * before a setting: such a line has the default and a comma, and a setting follows it.
 */
export function commentedConfiguration({ account, region, schema }: FirstAccount): string {
  const { clientId, clientSecret, refreshToken } = secretSources(account);
  return `{
  // The command line and the environment (LEDGERLAKE_LAKE, LEDGERLAKE_RATE …) override this file.
${schema === undefined ? '' : `  "$schema": ${JSON.stringify(schema)},\n`}
  "settings": {
${settingLines(account).join('\n')}
  },

  "accounts": {
    // Your name for the account: the folder account=… of the lake, and the value of --account.
    ${JSON.stringify(account)}: {
      // The service's base address, instead of the region's.
      // "endpoint": "https://host",
      // Where the refresh token is exchanged for access tokens.
      // "tokenEndpoint": ${JSON.stringify(defaultTokenEndpoint)},
      // Secrets of custom pipelines, by the variables that their definitions name (docs/pipelines.md).
      // "secrets": { "SHOP_TOKEN": { "file": "secrets/shop-token" } },
      // The region of the public endpoint: ${regionNames.join(', ')}.
      "region": ${JSON.stringify(region)},
      // Secrets: { "env": "VARIABLE" } or { "file": "PATH" }, relative to this file. A plain string works too; then restrict access to this file.
      "clientId": ${jsonLine(clientId)},
      "clientSecret": ${jsonLine(clientSecret)},
      "refreshToken": ${jsonLine(refreshToken)}
    }
  }
}
`;
}
