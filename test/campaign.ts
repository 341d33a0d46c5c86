/**
 * How large the campaigns of `make attack`, `make torture` and `make test-fleet` are. LEDGERLAKE_TEST_SHARE=20 takes one trial in
 * twenty, others from run to run: the short forms, which the gate runs.
 */
const oneIn = Number(process.env['LEDGERLAKE_TEST_SHARE'] ?? 1);

/** LEDGERLAKE_TEST_SEED repeats a run. */
export const seed = Number(process.env['LEDGERLAKE_TEST_SEED'] ?? Date.now() % 1e9);

if (oneIn > 1) console.log(`LEDGERLAKE_TEST_SHARE=${oneIn} LEDGERLAKE_TEST_SEED=${seed}`);

/** How many trials: what LEDGERLAKE_TEST_`name` says, else the usual number or its share. */
export function trialsOf(name: string, usual: number): number {
  return Number(process.env[`LEDGERLAKE_TEST_${name}`] ?? Math.ceil(usual / oneIn));
}

/** All of a list, or its share, spread over the list: at least one. */
export function sharedOut<T>(all: readonly T[]): readonly T[] {
  const step = Math.min(oneIn, all.length);
  return all.filter((_, at) => at % step === seed % step);
}
