import { anyText, optionOf, type ValueForm } from '../../core/text/value-forms.js';

/** An option of a load: a flag, or one with a value. */
type LoadOption = { readonly about: string } & ({ readonly isFlag: true } | ValueForm<unknown>);

/**
 * The options of a load that no setting has: `acceptEmpty` is `--accept-empty` on the command line. The job has their values.
 */
export const loadOptions = {
  refresh: { isFlag: true, about: 'Read again what is already loaded, and replace it' },
  acceptEmpty: {
    isFlag: true,
    about: 'Accept an answer that is empty, or has other orders, where the lake has events',
  },
  maxLag: {
    ...anyText('a duration'),
    about: 'Exit with 1 if the lake is older than this after the run: 90m, 2h, 1d; where there is no lake, begin none',
  },
} as const satisfies Readonly<Record<string, LoadOption>>;

type ValueOf<Option> = Option extends ValueForm<infer Value> ? Value : boolean;

/** The values of options of a load; undefined or left out: not given. */
export type LoadValues = {
  readonly [Name in keyof typeof loadOptions]?: ValueOf<(typeof loadOptions)[Name]> | undefined;
};

/**
 * The values of the options of a load. `given`: whether a flag is set, the text of another option, or undefined.
 *
 * @throws LedgerlakeError USAGE for an invalid value
 */
export function readLoadOptions(given: (name: keyof LoadValues) => string | boolean | undefined): Required<LoadValues> {
  const values = Object.entries<LoadOption>(loadOptions).map(([name, option]) => {
    const value = given(name as keyof LoadValues);
    return [
      name,
      'isFlag' in option || value === undefined ? value : option.read(`--${optionOf(name)}`, String(value)),
    ];
  });
  return Object.fromEntries(values) as Required<LoadValues>;
}
