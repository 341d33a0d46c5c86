import { createRequire } from 'node:module';
import type * as Arrow from 'apache-arrow';

let loaded: typeof Arrow | undefined;

/**
 * Apache Arrow, loaded by the first call: many commands and some threads don't need it. The package's single-file build
 * is loaded, because its 158 modules take each thread a tenth of a second.
 */
export function arrow(): typeof Arrow {
  loaded ??= createRequire(import.meta.url)('apache-arrow/Arrow.es2015.min') as typeof Arrow;
  return loaded;
}
