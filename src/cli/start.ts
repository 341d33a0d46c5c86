import { limitHeapGrowth } from '../core/v8-flags.js';
import { stopOnSignals } from './options/stop-signals.js';

limitHeapGrowth();
// A log that nobody reads any more, or whose terminal was closed, is no reason to lose a run.
process.stderr.on('error', () => undefined);
// First of all else, as loading the rest takes a moment, in which a signal would end the process without a word.
const stopping = stopOnSignals();
const { runCommandLine } = await import('./command-line.js');
await runCommandLine(process.argv.slice(2), stopping);
