import { messageOf, usageError } from '../errors.js';
import { amount, whole } from '../options/numbers.js';
import { parseFaults } from '../service/faults/fault-list.js';
import { faultLines } from '../service/faults/kinds.js';
import type { Latency } from '../service/latency.js';
import type { SignInOptions } from '../service/sign-in.js';
import type { CommandDefinition } from './definition.js';

const idName = 'LEDGERLAKE_SERVE_CLIENT_ID';
const secretName = 'LEDGERLAKE_SERVE_CLIENT_SECRET';

/** Who may sign in, by the environment; undefined: there is no sign-in. Throws a USAGE error for one half of it. */
export function signInOf(environment: Readonly<Record<string, string | undefined>>): SignInOptions | undefined {
  const { [idName]: clientId = '', [secretName]: clientSecret = '' } = environment;
  if (clientId === '' && clientSecret === '') return undefined;
  if (clientId !== '' && clientSecret !== '') return { clientId, clientSecret };
  const [missing, given] = clientId === '' ? [idName, secretName] : [secretName, idName];
  throw usageError(`expected ${missing} in the environment beside ${given}, got none: set both or neither`);
}

/** `400` or `100-3000`, milliseconds. Throws a USAGE error for anything else. */
export function latencyOf(text: string): Latency {
  const [, least, most = least] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text) ?? [];
  if (least === undefined || most === undefined || Number(most) < Number(least)) {
    throw usageError(
      `expected --latency to be milliseconds or a range of them, such as 400 or 100-3000, got ${JSON.stringify(text)}`,
    );
  }
  return { least: Number(least), most: Number(most) };
}

function optional<T>(text: string | undefined, read: (text: string) => T): T | undefined {
  return text === undefined ? undefined : read(text);
}

export const serveCommand: CommandDefinition = {
  name: 'serve',
  about: 'Serve the Financial Events Service over HTTP',
  more:
    'Serves the Financial Events Service over a made-up seller, the same for the same seed. The first line of\n' +
    `standard output is the address. With ${idName} and ${secretName}\n` +
    'in the environment, POST /auth/o2/token issues access tokens, which every operation then asks for.\n\n' +
    '--faults makes it fail as the live service does: a list of KIND, KIND=SHARE or KIND:N=SHARE with commas\n' +
    'between, SHARE from 0 to 1. all=SHARE draws evenly among the kinds marked *, which hit one request and let the\n' +
    'next one pass. The same seed makes the same chances. The kinds, with the N that each has unless one is given:\n\n' +
    faultLines().join('\n'),
  options: {
    host: { type: 'text', default: '127.0.0.1', about: 'Address to listen on' },
    port: { type: 'text', default: '8080', about: 'Port to listen on; 0 picks a free one' },
    seed: { type: 'text', default: '1', about: 'Which made-up seller, and which chances of faults' },
    events: { type: 'text', default: '20000', about: 'Its events in 90 days' },
    rate: { type: 'text', default: '0.5', about: 'Requests a second for each operation' },
    burst: { type: 'text', default: '30', about: 'Requests at once for each operation' },
    'token-life': { type: 'text', about: 'Minutes for which a NextToken is taken; left out: for ever' },
    latency: { type: 'text', about: 'Milliseconds that an answer takes: MS, or MIN-MAX; left out: none' },
    faults: { type: 'text', about: 'Faults of the live service to show, as above' },
  },
  examples: [
    ['serve --port 0 --seed 7 --events 1000', 'a small seller on a free port'],
    ['serve --token-life 3 --latency 400 --faults all=0.1,window-limit:14', 'the same on a bad day'],
  ],
  run: async (given, { clock, signal, print, log }) => {
    const seed = whole('--seed', given.required('seed'), 0);
    const events = whole('--events', given.required('events'), 0);
    const port = whole('--port', given.required('port'), 0);
    const quota = {
      rate: amount('--rate', given.required('rate')),
      burst: whole('--burst', given.required('burst'), 1),
    };
    const tokenLifeMs = optional(given.text('token-life'), (text) => amount('--token-life', text) * 60_000);
    const latencyMs = optional(given.text('latency'), latencyOf);
    const faults = optional(given.text('faults'), parseFaults);
    const signIn = signInOf(process.env);
    const [{ serve }, { createSeller }] = await Promise.all([
      import('../commands/serve.js'),
      import('../seller/seller.js'),
    ]);
    const ledger = createSeller({ seed, events }, clock);
    const onFault = (fault: unknown, requestId: string) => {
      log(`request ${requestId} failed: ${messageOf(fault)}`);
    };
    const upset = { tokenLifeMs, latencyMs, faults, seed };
    const host = given.required('host');
    await serve({ service: { ledger, clock, host, port, quota, signIn, ...upset, onFault }, signal, print });
    return 0;
  },
};
