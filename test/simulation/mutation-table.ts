import type { Mutation } from './mutations.js';

/** The lines of the table of deliberate faults in docs/testing.md, without their padding. */
export function mutationRows(mutations: readonly Mutation[]): string[] {
  return mutations.map(({ name, about, seed, file }) => `| \`${name}\` | ${about} | \`${file}\` | ${seed} |`);
}
