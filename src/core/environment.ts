/** Variables by name, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable's text; undefined where it is unset or empty. */
export function variableOf(environment: Environment, name: string): string | undefined {
  const text = environment[name];
  return text === '' ? undefined : text;
}

/** The suffix of an account's variables: `my-shop` has `LEDGERLAKE_REGION_MY_SHOP`. */
export function variableSuffix(account: string): string {
  return `_${account.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

/** Whether output is coloured. `FORCE_COLOR` decides where it is set (`0` and `false`: no), then `NO_COLOR` (anything: no). */
export function isColoured(environment: Environment, isTerminal: boolean): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: not, TERM: kind } = environment;
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  if (not !== undefined && not !== '') return false;
  return isTerminal && kind !== 'dumb';
}
