import { limitHeapGrowth } from '../core/v8-flags.js';
import { stopOnSignals } from './options/stop-signals.js';

limitHeapGrowth();
// A log without a reader, as after its terminal is closed, doesn't end a run.
process.stderr.on('error', () => undefined);
// Before the other imports, during which a signal would end the process without a message.
const stopping = stopOnSignals();
const { runCommandLine } = await import('./command-line.js');
await runCommandLine(process.argv.slice(2), stopping);
