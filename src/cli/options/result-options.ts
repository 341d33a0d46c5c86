import { formats } from '../../core/text/formats.js';
import type { OptionDefinition } from './command-definition.js';

/** Where and how the results of statements are written. */
export const resultOptions = {
  format: { choices: formats, about: 'Format of the results [default: from the extension of --output, else table]' },
  output: {
    short: 'o',
    about: 'File for the results, .parquet and .xlsx too, written completely or not at all; - for standard output',
  },
} as const satisfies Record<string, OptionDefinition>;
