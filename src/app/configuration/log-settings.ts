import { resolve } from 'node:path';
import { usageError } from '../../core/errors.js';
import { whole } from './numbers.js';
import { variableOf, type Environment } from '../../core/environment.js';

export const logFormats = ['text', 'json'] as const;
export type LogFormat = (typeof logFormats)[number];

/** How what happens is told. */
export interface LogSettings {
  readonly format: LogFormat;
  /** Undefined: no metrics are served. 0: on any free port. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  /** Takes the metrics when a run ends; undefined: none does. */
  readonly metricsFile: string | undefined;
}

/** Options of the command line as they were given; what was left out is undefined. */
export interface GivenLogSettings {
  readonly format?: string | undefined;
  readonly metricsPort?: string | undefined;
  readonly metricsHost?: string | undefined;
  readonly metricsFile?: string | undefined;
}

/** What a configuration file says of it. */
interface FileLogSettings {
  readonly folder: string;
  readonly settings: {
    readonly logFormat?: LogFormat | undefined;
    readonly metricsPort?: number | undefined;
    readonly metricsHost?: string | undefined;
    readonly metricsFile?: string | undefined;
  };
}

/**
 * How what happens is told: the command line goes before the environment (`LEDGERLAKE_LOG_FORMAT`, `_METRICS_PORT`,
 * `_METRICS_HOST`, `_METRICS_FILE`), that before the file, and that before the defaults.
 *
 * @throws LedgerlakeError USAGE for a value of the command line or the environment that isn't one
 */
export function resolveLogSettings(
  given: GivenLogSettings,
  environment: Environment,
  { settings, folder }: FileLogSettings,
): LogSettings {
  const file = settings.metricsFile;
  return {
    format:
      chosen('--log-format', given.format, environment, 'LEDGERLAKE_LOG_FORMAT', readFormat) ??
      settings.logFormat ??
      'text',
    metricsPort:
      chosen('--metrics-port', given.metricsPort, environment, 'LEDGERLAKE_METRICS_PORT', readPort) ??
      settings.metricsPort,
    metricsHost:
      given.metricsHost ?? variableOf(environment, 'LEDGERLAKE_METRICS_HOST') ?? settings.metricsHost ?? '127.0.0.1',
    metricsFile:
      given.metricsFile ??
      variableOf(environment, 'LEDGERLAKE_METRICS_FILE') ??
      (file === undefined ? undefined : resolve(folder, file)),
  };
}

/** The value on the command line, else in the environment; where it stands is named in the error. */
function chosen<T>(
  option: string,
  given: string | undefined,
  environment: Environment,
  variable: string,
  read: (name: string, text: string) => T,
): T | undefined {
  if (given !== undefined) return read(option, given);
  const text = variableOf(environment, variable);
  return text === undefined ? undefined : read(variable, text);
}

function readFormat(name: string, text: string): LogFormat {
  const format = logFormats.find((known) => known === text);
  if (format !== undefined) return format;
  throw usageError(`expected ${name} to be one of ${logFormats.join(', ')}, got ${JSON.stringify(text)}`);
}

function readPort(name: string, text: string): number {
  const port = whole(name, text, 0);
  if (port <= 65_535) return port;
  throw usageError(`expected ${name} to be a port from 0 to 65535, got ${port}`);
}
