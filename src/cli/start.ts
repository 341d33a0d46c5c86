import { setFlagsFromString } from 'node:v8';
import { stopOnSignals } from './options/stop-signals.js';

// Left to itself V8 lets a heap grow to several times what lives in it. A lake of many files has a log that lives long: what it
// takes is to be what it takes, and not twice that (docs/performance.md).
setFlagsFromString('--heap-growing-percent=30');
// A log that nobody reads any more, or whose terminal was closed, is no reason to lose a run.
process.stderr.on('error', () => undefined);
// First of all else, as loading the rest takes a moment, in which a signal would end the process without a word.
const stopping = stopOnSignals();
const { runCommandLine } = await import('./command-line.js');
await runCommandLine(process.argv.slice(2), stopping);
