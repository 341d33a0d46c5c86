import { lakeFolder } from '../../lake/store/open-store.js';
import { usageError } from '../../core/errors.js';
import { limits } from '../../sources/finances/api-v0/operations.js';
import { amount, whole } from './numbers.js';
import type { Configuration } from './configuration.js';
import { variableOf, type Environment } from '../../core/environment.js';
import type { LookBack } from './schema.js';

/** What runs go by. */
export interface Settings {
  readonly lake: string;
  /** As given, ISO 8601; undefined: 90 days before the end. */
  readonly from: string | undefined;
  /** Requests a second and at once, for each operation, until the service names its own rate. */
  readonly rate: number;
  readonly burst: number;
  /** Minutes by which bounds stay behind the present. */
  readonly marginMinutes: number;
  /** Minutes that the service's NextToken is taken to live. */
  readonly tokenLifeMinutes: number;
  /** Folder for the pages of unfinished slices; undefined: beside the lake. */
  readonly journal: string | undefined;
  /** Folder with definitions of pipelines of the user's own; undefined: there are none. */
  readonly pipelineFolder: string | undefined;
  /** What `sync` reads again. */
  readonly lookBack: readonly LookBack[];
}

/** Options of the command line as they were given; what was left out is undefined. */
export interface GivenSettings {
  readonly lake?: string | undefined;
  readonly from?: string | undefined;
  readonly rate?: string | undefined;
  readonly burst?: string | undefined;
  readonly journal?: string | undefined;
  readonly pipelines?: string | undefined;
}

/** The last two days on each run, the last two weeks weekly, the last 35 days monthly. */
const defaultLookBack: readonly LookBack[] = [
  { days: 2, everyDays: 0 },
  { days: 14, everyDays: 7 },
  { days: 35, everyDays: 30 },
];

/**
 * The settings of a run: the command line goes before the environment (`LEDGERLAKE_LAKE`, `_FROM`, `_RATE`, `_BURST`,
 * `_MARGIN_MINUTES`, `_TOKEN_LIFE_MINUTES`, `_JOURNAL`, `_PIPELINES`), that before the file, and that before the defaults.
 *
 * @throws LedgerlakeError USAGE for a value of the command line or the environment that isn't one
 */
export function resolveSettings(
  given: GivenSettings,
  environment: Environment,
  { settings, folder }: Configuration,
): Settings {
  const variable = (name: string): readonly [string, string | undefined] => [name, variableOf(environment, name)];
  const burst = (name: string, text: string): number => whole(name, text, 1);
  return {
    lake: given.lake ?? variableOf(environment, 'LEDGERLAKE_LAKE') ?? seenFrom(folder, settings.lake) ?? 'data/lake',
    from: given.from ?? variableOf(environment, 'LEDGERLAKE_FROM') ?? settings.from,
    rate: first([['--rate', given.rate], variable('LEDGERLAKE_RATE')], amount) ?? settings.rate ?? limits.rate,
    burst: first([['--burst', given.burst], variable('LEDGERLAKE_BURST')], burst) ?? settings.burst ?? limits.burst,
    marginMinutes: first([variable('LEDGERLAKE_MARGIN_MINUTES')], margin) ?? settings.marginMinutes ?? 5,
    // The shortest life that the service's tokens are known for.
    tokenLifeMinutes: first([variable('LEDGERLAKE_TOKEN_LIFE_MINUTES')], amount) ?? settings.tokenLifeMinutes ?? 3,
    journal: given.journal ?? variableOf(environment, 'LEDGERLAKE_JOURNAL') ?? seenFrom(folder, settings.journal),
    pipelineFolder:
      given.pipelines ?? variableOf(environment, 'LEDGERLAKE_PIPELINES') ?? seenFrom(folder, settings.pipelines),
    lookBack: settings.lookBack ?? defaultLookBack,
  };
}

/** The number of the first place that has one; the place's name stands in the error. */
function first(
  places: readonly (readonly [name: string, text: string | undefined])[],
  read: (name: string, text: string) => number,
): number | undefined {
  for (const [name, text] of places) if (text !== undefined) return read(name, text);
  return undefined;
}

/** No bound may be nearer to the present than the service allows (specification, section 8). */
function margin(name: string, text: string): number {
  const minutes = amount(name, text);
  if (minutes >= limits.marginMs / 60_000 && minutes <= 1440) return minutes;
  throw usageError(`expected ${name} to be a number of minutes from 2 to 1440, got ${minutes}: correct it`);
}

/** Relative paths of a file are seen from its folder, wherever the command runs. */
function seenFrom(folder: string, path: string | undefined): string | undefined {
  return path === undefined ? undefined : (lakeFolder(path, folder) ?? path);
}
