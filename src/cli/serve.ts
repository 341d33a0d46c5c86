import { messageOf } from '../errors.js';
import { amount, whole } from '../options/numbers.js';
import { sharedOptions, type CommandDefinition } from './definition.js';

export const serveCommand: CommandDefinition = {
  name: 'serve',
  about: 'Serve the Financial Events Service over HTTP',
  more:
    'Serves the Financial Events Service over a made-up seller, the same for the same seed. The first line of standard\n' +
    'output is the address.',
  options: {
    host: { type: 'text', default: '127.0.0.1', about: 'Address to listen on' },
    port: { type: 'text', default: '8080', about: 'Port to listen on; 0 picks a free one' },
    seed: { type: 'text', default: '1', about: 'Which made-up seller' },
    events: { type: 'text', default: '20000', about: 'Its events in 90 days' },
    rate: sharedOptions.rate,
    burst: sharedOptions.burst,
  },
  examples: [['serve --port 0 --seed 7 --events 1000', 'a small seller on a free port']],
  run: async (given, { clock, signal, print, log }) => {
    const seed = whole('--seed', given.required('seed'), 0);
    const events = whole('--events', given.required('events'), 0);
    const port = whole('--port', given.required('port'), 0);
    const quota = {
      rate: amount('--rate', given.required('rate')),
      burst: whole('--burst', given.required('burst'), 1),
    };
    const [{ serve }, { createSeller }] = await Promise.all([
      import('../commands/serve.js'),
      import('../seller/seller.js'),
    ]);
    const ledger = createSeller({ seed, events }, clock);
    const onFault = (fault: unknown, requestId: string) => {
      log(`request ${requestId} failed: ${messageOf(fault)}`);
    };
    await serve({ service: { ledger, clock, host: given.required('host'), port, quota, onFault }, signal, print });
    return 0;
  },
};
