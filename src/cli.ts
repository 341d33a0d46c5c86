#!/usr/bin/env node
import { stopOnSignals } from './cli/stop-signals.js';

// First of all, as loading the rest takes a moment, in which a signal would end the process without a word.
const stopping = stopOnSignals();
const { runCommandLine } = await import('./cli/command-line.js');
await runCommandLine(process.argv.slice(2), stopping);
