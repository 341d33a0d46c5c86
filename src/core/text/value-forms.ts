import type { z } from 'zod';
import { usageError } from '../errors.js';
import { readInstant, millisecondsOf } from '../numeric/instant.js';
import { nearestName } from './fault-line.js';
import type { SchemaNodes } from './schema-nodes.js';

/** What a value may be: as the text of an option or a variable, and in the configuration. */
export interface ValueForm<T> {
  /** Parses a text. Throws a USAGE error for an invalid one. */
  readonly read: (name: string, text: string) => T;
  /** The schema in the configuration. */
  readonly schema: (nodes: SchemaNodes) => z.ZodType<T>;
  /** All values, where they are a few words. */
  readonly words?: readonly string[];
}

/** `expected`: the value in words. */
export function anyText(expected: string): ValueForm<string> {
  return { read: (_name, text) => text, schema: ({ text }) => text(expected) };
}

/** An ISO 8601 date or instant, which `readDateRange` parses later. */
export const instantText: ValueForm<string> = {
  read: (name, text) => {
    readInstantOption(name, text);
    return text;
  },
  schema: ({ string }) => {
    const error = 'an ISO 8601 date or instant such as "2025-01-31"';
    return string({ error }).refine((value) => readInstant(value) !== undefined, { error });
  },
};

/** The IANA name of a time zone. */
export const timeZoneName: ValueForm<string> = {
  read: (name, text) => {
    if (isTimeZone(text)) return text;
    const nearest = nearestName(text, Intl.supportedValuesOf('timeZone'));
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`;
    throw usageError(`expected ${name} to be ${timeZoneExpected}, got ${JSON.stringify(text)}${hint}`);
  },
  schema: ({ string }) => string({ error: timeZoneExpected }).refine(isTimeZone, { error: timeZoneExpected }),
};

const timeZoneExpected = 'the IANA name of a time zone such as Europe/Berlin';

function isTimeZone(text: string): boolean {
  // Some versions of Node take an offset (+02:00), which is no name.
  if (!/^[a-z]/i.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

interface NumberBounds {
  readonly isWhole?: true;
  /** Smallest value; left out: any that is greater than 0. */
  readonly least?: number;
  readonly most?: number;
  /** The value in words, with its unit. */
  readonly expected: string;
  /** What to do about a text that is out of bounds. */
  readonly hint?: string;
}

export function numberForm({
  isWhole,
  least = 0,
  most = Infinity,
  expected,
  hint = '',
}: NumberBounds): ValueForm<number> {
  return {
    read: (name, text) => {
      const value = (isWhole ? /^\d+$/ : /^\d+(\.\d+)?$/).test(text) ? Number(text) : Number.NaN;
      const isNumber = isWhole ? Number.isSafeInteger(value) : Number.isFinite(value) && value > 0;
      if (isNumber && value >= least && value <= most) return value;
      throw usageError(`expected ${name} to be ${expected}, got ${JSON.stringify(text)}${hint}`);
    },
    schema: (nodes) => {
      const any = nodes.number({ error: expected });
      const numbers = isWhole ? any.int(expected) : any;
      const bounded = isWhole || least > 0 ? numbers.min(least, expected) : numbers.positive(expected);
      return most === Infinity ? bounded : bounded.max(most, expected);
    },
  };
}

export function oneOf<T extends string>(words: readonly T[]): ValueForm<T> {
  const expected = `one of ${words.join(', ')}`;
  return {
    words,
    read: (name, text) => {
      const word = words.find((known) => known === text);
      if (word !== undefined) return word;
      throw usageError(`expected ${name} to be ${expected}, got ${JSON.stringify(text)}`);
    },
    schema: (nodes) => nodes.enum(words, { error: expected }),
  };
}

/** `true` or `false`. */
export const trueOrFalse: ValueForm<boolean> = {
  words: ['true', 'false'],
  read: (name, text) => oneOf(['true', 'false']).read(name, text) === 'true',
  schema: ({ boolean }) => boolean({ error: 'true or false' }),
};

/** A list of words; as a text comma-separated, or `none`. */
export function someOf<T extends string>(words: readonly T[]): ValueForm<readonly T[]> {
  return {
    read: (name, text) => {
      if (text === 'none') return [];
      return text.split(',').map((entry) => {
        const word = words.find((known) => known === entry.trim());
        if (word !== undefined) return word;
        throw usageError(`expected ${name} to be none or some of ${words.join(',')}, got ${JSON.stringify(text)}`);
      });
    },
    schema: (nodes) => nodes.array(oneOf(words).schema(nodes), { error: `a list of ${words.join(', ')}` }),
  };
}

/** A whole number. Throws a USAGE error for any other text, and below `least`. */
export function wholeNumber(option: string, text: string, least: number): number {
  return numberForm({ isWhole: true, least, expected: `a whole number from ${least}` }).read(option, text);
}

/** A number greater than 0, such as a rate; `of`: its unit. Throws a USAGE error for any other text. */
export function positiveNumber(option: string, text: string, of = ''): number {
  return numberForm({ expected: `a number ${of}${of && ' '}greater than 0` }).read(option, text);
}

/** A date or instant as milliseconds since 1970. Throws a USAGE error for any other text. */
export function readInstantOption(option: string, text: string): number {
  const micros = readInstant(text);
  if (micros === undefined) {
    throw usageError(
      `expected ${option} to be an ISO 8601 date or instant such as 2025-01-31 or 2025-01-31T06:00:00Z, got ${JSON.stringify(text)}`,
    );
  }
  return millisecondsOf(micros);
}

export type OptionOf<Name extends string> = Name extends `${infer Letter}${infer Others}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `-${Lowercase<Letter>}`}${OptionOf<Others>}`
  : '';

/** The option of a name, without its dashes: `metrics-port` of `metricsPort`. */
export function optionOf<Name extends string>(name: Name): OptionOf<Name> {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) as OptionOf<Name>;
}
