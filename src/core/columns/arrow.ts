import { createRequire } from 'node:module';
import type * as Arrow from 'apache-arrow';

/** Apache Arrow in one file, as its package has it: its 158 modules one by one take each thread a tenth of a second. */
export const arrow = createRequire(import.meta.url)('apache-arrow/Arrow.es2015.min') as typeof Arrow;
