import { resolve } from 'node:path';
import { apis, type Api } from '../../sources/finances/selling-partner/apis.js';
import { variableOf, type Environment } from '../../core/environment.js';
import { usageError } from '../../core/errors.js';
import { lakeFolder } from '../../lake/store/open-store.js';
import { exportFormats, type ExportFormat } from '../export/export-formats.js';
import { logFormats, type LogFormat } from '../../observe/log/plain-log.js';
import { limits } from '../../sources/finances/api-v0/operations.js';
import { defaultLookBack } from '../sync/look-back.js';
import { mostRetentionHours } from '../../core/windows.js';
import type { Configuration, LookBack } from './configuration.js';
import { readInstantOption } from './range.js';
import { readConfiguration } from './read-configuration.js';

/** The lake of commands where nothing names one. */
export const defaultLake = 'data/lake';

/** What runs go by. */
export interface Settings {
  readonly lake: string;
  /** As given, ISO 8601; undefined: 90 days before the end. */
  readonly from: string | undefined;
  /** Requests a second and at once, for each operation, until the service names its own rate. */
  readonly rate: number;
  /** Undefined: what each API allows. */
  readonly burst: number | undefined;
  /** Minutes by which bounds stay behind the present. */
  readonly marginMinutes: number;
  /** Minutes that the service's NextToken is taken to live. */
  readonly tokenLifeMinutes: number;
  /** Folder for the pages of unfinished slices; undefined: beside the lake. */
  readonly journal: string | undefined;
  /** Folder with definitions of custom pipelines; undefined: there are none. */
  readonly pipelineFolder: string | undefined;
  /** Whose pipelines run where none is named; undefined: nobody said, so v0's. */
  readonly api: Api | undefined;
  /** What `sync` reads again. */
  readonly lookBack: readonly LookBack[];
  /** How many hours files stay that runs have replaced; undefined: as the lake has it. */
  readonly retentionHours: number | undefined;
  /** What runs write for other engines at their end. */
  readonly export: readonly ExportFormat[];
}

/** Log and metrics of a run. */
export interface LogSettings {
  readonly format: LogFormat;
  /** Undefined: no metrics are served. 0: on any free port. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  /** Takes the metrics when a run ends; undefined: none does. */
  readonly metricsFile: string | undefined;
}

/** Options of the command line by their names (`log-format`), as they were given. */
type OptionTexts = Readonly<Record<string, string | undefined>>;

/** What says which settings a command has. */
export interface SettingSources {
  readonly texts: OptionTexts;
  readonly environment: Environment;
  /** Where `ledgerlake.config.json` is looked for. */
  readonly workingFolder: string;
}

type Reader<T> = (name: string, text: string) => T;

/**
 * Reads a setting where it is given: the option (`--metrics-port`) goes before the environment (`LEDGERLAKE_METRICS_PORT`);
 * the one that is taken is named in the error. The file and the default come after both.
 */
function settingReader(options: OptionTexts, environment: Environment) {
  return <T>(name: string, read: Reader<T>): T | undefined => {
    const variable = `LEDGERLAKE_${name.toUpperCase().replaceAll('-', '_')}`;
    const sources = [
      [`--${name}`, options[name]],
      [variable, variableOf(environment, variable)],
    ] as const;
    for (const [source, text] of sources) if (text !== undefined) return read(source, text);
    return undefined;
  };
}

/**
 * The configuration, and the settings that follow from it, from the environment and from what is given.
 *
 * @throws LedgerlakeError USAGE for what is wrong in any of them
 */
export async function configuredSettings({
  texts,
  environment,
  workingFolder,
}: SettingSources): Promise<{ readonly configuration: Configuration; readonly settings: Settings }> {
  const configuration = await readConfiguration(texts['config'], environment, workingFolder);
  return { configuration, settings: resolveSettings(texts, environment, configuration) };
}

/** @throws LedgerlakeError USAGE for a value of the command line or the environment that isn't one */
export function resolveSettings(
  options: OptionTexts,
  environment: Environment,
  { settings, folder }: Pick<Configuration, 'settings' | 'folder'>,
): Settings {
  const read = settingReader(options, environment);
  return {
    lake: read('lake', asText) ?? seenFrom(folder, settings.lake) ?? defaultLake,
    from: read('from', instantText) ?? settings.from,
    rate: read('rate', positiveNumber) ?? settings.rate ?? limits.rate,
    burst: read('burst', (name, text) => wholeNumber(name, text, 1)) ?? settings.burst,
    marginMinutes: read('margin-minutes', margin) ?? settings.marginMinutes ?? 5,
    // The shortest life that the service's tokens are known for.
    tokenLifeMinutes: read('token-life-minutes', positiveNumber) ?? settings.tokenLifeMinutes ?? 3,
    journal: read('journal', asText) ?? seenFrom(folder, settings.journal),
    pipelineFolder: read('pipelines', asText) ?? seenFrom(folder, settings.pipelines),
    api: read('api', oneOf(apis)) ?? settings.api,
    lookBack: settings.lookBack ?? defaultLookBack,
    retentionHours: read('retention-hours', retention) ?? settings.retentionHours,
    export: read('export', readExports) ?? settings.export ?? [],
  };
}

/** @throws LedgerlakeError USAGE for a value of the command line or the environment that isn't one */
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

/** The text of an instant, which `readRange` reads. Throws a USAGE error for one that is no date or instant */
function instantText(name: string, text: string): string {
  readInstantOption(name, text);
  return text;
}

/** Throws a USAGE error for anything else, and below `least` */
export function wholeNumber(option: string, text: string, least: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw usageError(`expected ${option} to be a whole number from ${least}, got ${JSON.stringify(text)}`);
}

/** A number greater than 0 from the command line, such as a rate. Throws a USAGE error for anything else */
export function positiveNumber(option: string, text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value) && value > 0) return value;
  throw usageError(`expected ${option} to be a number greater than 0, got ${JSON.stringify(text)}`);
}

/** No bound may be nearer to the present than the service allows (specification, section 8). */
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

/** Formats with commas between them; `none` for none, whatever the file says. */
function readExports(name: string, text: string): readonly ExportFormat[] {
  if (text === 'none') return [];
  return text.split(',').map((entry) => {
    const format = exportFormats.find((known) => known === entry.trim());
    if (format !== undefined) return format;
    throw usageError(`expected ${name} to be none or some of ${exportFormats.join(',')}, got ${JSON.stringify(text)}`);
  });
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

/** Relative paths of a file are seen from its folder, wherever the command runs. */
function seenFrom(folder: string, path: string | undefined): string | undefined {
  return path === undefined ? undefined : (lakeFolder(path, folder) ?? path);
}
