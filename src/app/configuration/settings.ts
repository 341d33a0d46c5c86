import { join, resolve } from 'node:path';
import { apis, type Api } from '../../sources/finances/finances-apis.js';
import { variableOf, type Environment } from '../../core/environment.js';
import { usageError } from '../../core/errors.js';
import { userCache } from '../../core/io/home-folder.js';
import type { CacheSettings } from '../../lake/files/file-cache.js';
import { lakeFolder } from '../../lake/store/open-store.js';
import { sseAlgorithms, type S3Encryption } from '../../lake/store/store.js';
import { exportFormats, type ExportFormat } from '../export/export-formats.js';
import { logFormats, type LogFormat } from '../../observe/log/plain-log.js';
import { limits } from '../../sources/finances/api-v0/operations.js';
import { mostRetentionHours } from '../../core/windows.js';
import type { Configuration, LookBackRule } from './configuration.js';
import { readInstantOption } from './range.js';
import { readConfiguration } from './read-configuration.js';

/** Most late events arrive hours late, some days, and a few weeks late, when a reserve is released. */
export const defaultLookBack: readonly LookBackRule[] = [
  { days: 2, everyDays: 0 },
  { days: 14, everyDays: 7 },
  { days: 35, everyDays: 30 },
];

/** The default lake. */
export const defaultLake = 'data/lake';

const defaultCacheGigabytes = 10;

/** What is set of the cache. */
export type CacheOptions = Partial<Pick<Settings, 'cacheFolder' | 'cacheBytes'>>;

/**
 * Where copies of the files of lakes on S3 are kept. Without settings as the environment says, and by default.
 *
 * @throws LedgerlakeError as `userCache`
 */
export function cacheOf({ cacheFolder, cacheBytes }: CacheOptions = {}): CacheSettings {
  const folder =
    cacheFolder ?? variableOf(process.env, settingVariable('cache')) ?? join(userCache(), 'ledgerlake', 'files');
  return { folder, bytes: cacheBytes ?? 1e9 * defaultCacheGigabytes };
}

/** The settings of a run. */
export interface Settings {
  readonly lake: string;
  /** As the user wrote it, ISO 8601; undefined: 90 days before the end. */
  readonly from: string | undefined;
  /** Requests a second for each operation, until the service announces its rate. */
  readonly rate: number;
  /** Requests at once for each operation; undefined: what each API allows. */
  readonly burst: number | undefined;
  /** Minutes between the latest bound and the present. */
  readonly marginMinutes: number;
  /** The assumed lifetime of the service's NextToken. */
  readonly tokenLifeMinutes: number;
  /** Folder for the pages of unfinished slices; undefined: beside the lake. */
  readonly journal: string | undefined;
  /** Folder for copies of the files of lakes on S3; undefined: in the user's cache. */
  readonly cacheFolder: string | undefined;
  /** What these copies may have together. */
  readonly cacheBytes: number;
  /** Folder with definitions of custom pipelines; undefined: none. */
  readonly pipelineFolder: string | undefined;
  /** API whose pipelines run if none is named; undefined: not set, v0. */
  readonly api: Api | undefined;
  /** What `sync` reads again. */
  readonly lookBack: readonly LookBackRule[];
  /** How many hours replaced files stay; undefined: the lake's setting. */
  readonly retentionHours: number | undefined;
  /** What runs write for other engines at their end. */
  readonly export: readonly ExportFormat[];
  /** Of new objects of a lake on S3; undefined: as the bucket has it. */
  readonly encryption: S3Encryption | undefined;
}

/** Log and metrics of a run. */
export interface LogSettings {
  readonly format: LogFormat;
  /** 0: any free port; undefined: no metrics are served. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  /** File for the metrics at the end of a run; undefined: none. */
  readonly metricsFile: string | undefined;
}

/** Texts of command-line options by name (`log-format`). */
type OptionTexts = Readonly<Record<string, string | undefined>>;

/** The sources of a command's settings. */
export interface SettingSources {
  readonly texts: OptionTexts;
  readonly environment: Environment;
  /** The folder of `ledgerlake.config.json`. */
  readonly workingFolder: string;
}

/** The settings that an option (`--metrics-port`) or a variable (`LEDGERLAKE_METRICS_PORT`) can have, by the option's name. */
export const settingNames = [
  ...([
    'lake',
    'from',
    'rate',
    'burst',
    'margin-minutes',
    'token-life-minutes',
    'journal',
    'pipelines',
    'api',
  ] as const),
  ...(['cache', 'cache-gigabytes', 'retention-hours', 'export', 'sse', 'kms-key'] as const),
  ...(['log-format', 'metrics-port', 'metrics-host', 'metrics-file'] as const),
];

export function settingVariable(name: (typeof settingNames)[number]): string {
  return `LEDGERLAKE_${name.toUpperCase().replaceAll('-', '_')}`;
}

type Reader<T> = (name: string, text: string) => T;

/** Reads a setting from its option, else from its variable. */
function settingReader(options: OptionTexts, environment: Environment) {
  return <T>(name: (typeof settingNames)[number], read: Reader<T>): T | undefined => {
    const variable = settingVariable(name);
    const [option, text] = [options[name], variableOf(environment, variable)];
    if (option !== undefined) return read(`--${name}`, option);
    return text === undefined ? undefined : read(variable, text);
  };
}

/**
 * The configuration, and the settings from the command line, the environment and the configuration, in this order.
 *
 * @throws LedgerlakeError USAGE for an invalid value in any of them
 */
export async function configuredSettings({
  texts,
  environment,
  workingFolder,
}: SettingSources): Promise<{ readonly configuration: Configuration; readonly settings: Settings }> {
  const configuration = await readConfiguration(texts['config'], environment, workingFolder);
  return { configuration, settings: resolveSettings(texts, environment, configuration) };
}

/** @throws LedgerlakeError USAGE for an invalid value of the command line or the environment */
export function resolveSettings(
  options: OptionTexts,
  environment: Environment,
  { settings, folder }: Pick<Configuration, 'settings' | 'folder'>,
): Settings {
  const read = settingReader(options, environment);
  return {
    lake: read('lake', asText) ?? relativeTo(folder, settings.lake) ?? defaultLake,
    from: read('from', instantText) ?? settings.from,
    rate: read('rate', positiveNumber) ?? settings.rate ?? limits.rate,
    burst: read('burst', (name, text) => wholeNumber(name, text, 1)) ?? settings.burst,
    marginMinutes: read('margin-minutes', margin) ?? settings.marginMinutes ?? 5,
    // The shortest known lifetime of the service's tokens.
    tokenLifeMinutes: read('token-life-minutes', positiveNumber) ?? settings.tokenLifeMinutes ?? 3,
    journal: read('journal', asText) ?? relativeTo(folder, settings.journal),
    cacheFolder: read('cache', asText) ?? relativeTo(folder, settings.cache),
    cacheBytes: 1e9 * (read('cache-gigabytes', positiveNumber) ?? settings.cacheGigabytes ?? defaultCacheGigabytes),
    pipelineFolder: read('pipelines', asText) ?? relativeTo(folder, settings.pipelines),
    api: read('api', oneOf(apis)) ?? settings.api,
    lookBack: settings.lookBack ?? defaultLookBack,
    retentionHours: read('retention-hours', retention) ?? settings.retentionHours,
    export: read('export', readExports) ?? settings.export ?? [],
    encryption: encryptionOf(
      read('sse', oneOf(sseAlgorithms)) ?? settings.sse,
      read('kms-key', asText) ?? settings.kmsKey,
    ),
  };
}

/** @throws LedgerlakeError USAGE for an invalid value of the command line or the environment */
export function resolveLogSettings(
  options: OptionTexts,
  environment: Environment,
  { settings, folder }: Pick<Configuration, 'settings' | 'folder'>,
): LogSettings {
  const read = settingReader(options, environment);
  const file = settings.metricsFile;
  return {
    format: read('log-format', oneOf(logFormats)) ?? settings.logFormat ?? 'text',
    metricsPort: read('metrics-port', port) ?? settings.metricsPort,
    metricsHost: read('metrics-host', asText) ?? settings.metricsHost ?? '127.0.0.1',
    metricsFile: read('metrics-file', asText) ?? (file && resolve(folder, file)),
  };
}

function asText(_name: string, text: string): string {
  return text;
}

/** The text of an instant, which `readDateRange` parses later. Throws a USAGE error for an invalid one. */
function instantText(name: string, text: string): string {
  readInstantOption(name, text);
  return text;
}

/** A whole number. Throws a USAGE error for any other text, and below `least`. */
export function wholeNumber(option: string, text: string, least: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw usageError(`expected ${option} to be a whole number from ${least}, got ${JSON.stringify(text)}`);
}

/** A number greater than 0, such as a rate. Throws a USAGE error for any other text. */
export function positiveNumber(option: string, text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value) && value > 0) return value;
  throw usageError(`expected ${option} to be a number greater than 0, got ${JSON.stringify(text)}`);
}

/** The service refuses bounds that are nearer to the present (specification, section 8). */
function margin(name: string, text: string): number {
  const minutes = positiveNumber(name, text);
  if (minutes >= limits.marginMs / 60_000 && minutes <= 1440) return minutes;
  throw usageError(`expected ${name} to be a number of minutes from 2 to 1440, got ${minutes}; correct it`);
}

function retention(name: string, text: string): number {
  const hours = wholeNumber(name, text, 0);
  if (hours <= mostRetentionHours) return hours;
  throw usageError(`expected ${name} to be a number of hours from 0 to ${mostRetentionHours}, got ${hours}`);
}

/** Comma-separated formats; `none` replaces those of the configuration. */
function readExports(name: string, text: string): readonly ExportFormat[] {
  if (text === 'none') return [];
  return text.split(',').map((entry) => {
    const format = exportFormats.find((known) => known === entry.trim());
    if (format !== undefined) return format;
    throw usageError(`expected ${name} to be none or some of ${exportFormats.join(',')}, got ${JSON.stringify(text)}`);
  });
}

/** A key without an algorithm is one for `aws:kms`. Throws a USAGE error for a key that the algorithm doesn't use. */
function encryptionOf(sse: S3Encryption['sse'] | undefined, kmsKey: string | undefined): S3Encryption | undefined {
  if (sse === 'AES256' && kmsKey !== undefined) {
    throw usageError('expected sse to be aws:kms or aws:kms:dsse with kmsKey, got AES256; leave out one of the two');
  }
  if (kmsKey !== undefined) return { sse: sse ?? 'aws:kms', kmsKey };
  return sse && { sse };
}

function oneOf<T extends string>(words: readonly T[]): Reader<T> {
  return (name, text) => {
    const word = words.find((known) => known === text);
    if (word !== undefined) return word;
    throw usageError(`expected ${name} to be one of ${words.join(', ')}, got ${JSON.stringify(text)}`);
  };
}

function port(name: string, text: string): number {
  const number = wholeNumber(name, text, 0);
  if (number <= 65_535) return number;
  throw usageError(`expected ${name} to be a port from 0 to 65535, got ${number}`);
}

/** A path in the configuration, which is relative to the folder of that file. */
function relativeTo(folder: string, path: string | undefined): string | undefined {
  return path === undefined ? undefined : (lakeFolder(path, folder) ?? path);
}
