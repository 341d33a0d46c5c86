import type { ProfileName } from '../../emulator/seller/seller.js';
import type { FaultInjection, Latency } from '../../serve/http/fault-injection.js';
import { usageError } from '../../core/errors.js';
import { positiveNumber, wholeNumber } from '../../core/text/value-forms.js';
import { isLoopbackHost } from '../../core/http-server/host-rule.js';
import { burstsText } from '../../sources/finances/api-names.js';
import { eventLimits } from '../../sources/finances/api-v0/operations.js';
import { reportOperations } from '../../sources/finances/settlement-reports/report-operations.js';
import { remoteForm } from '../../lake/store/open-store.js';
import { quoted } from '../../core/http-server/refusal.js';
import type { SignInOptions } from '../../serve/http/sign-in.js';
import { printResult, shared, type CommandDefinition, type CommandArguments } from '../options/command-definition.js';
import { readLakeSettings } from '../options/command-settings.js';

const idName = 'LEDGERLAKE_SERVE_CLIENT_ID';
const secretName = 'LEDGERLAKE_SERVE_CLIENT_SECRET';

/** The sign-in by the environment; undefined: none. Throws a USAGE error for an id without a secret or the reverse, and for a short secret. */
export function signInOf(environment: Readonly<Record<string, string | undefined>>): SignInOptions | undefined {
  const { [idName]: clientId = '', [secretName]: clientSecret = '' } = environment;
  if (clientId === '' && clientSecret === '') return undefined;
  if (clientId !== '' && clientSecret !== '') {
    if (clientSecret.length >= leastSecret) return { clientId, clientSecret };
    throw usageError(
      `expected ${secretName} to have at least ${leastSecret} characters, got fewer; choose one at random, for example with ` +
        '`openssl rand -base64 24`',
    );
  }
  const [missing, present] = clientId === '' ? [idName, secretName] : [secretName, idName];
  throw usageError(`expected ${missing} in the environment with ${present}, got none; set both or neither`);
}

/** Smallest length of a client secret: guessing is limited to eight attempts in four seconds. */
const leastSecret = 12;

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

const profiles: readonly ProfileName[] = ['plausible', 'edge-cases'];

/** Throws a USAGE error for an unknown profile. */
function profileOf(text: string): ProfileName {
  const profile = profiles.find((name) => name === text);
  if (profile !== undefined) return profile;
  throw usageError(`expected --profile to be ${profiles.join(' or ')}, got ${JSON.stringify(text)}`);
}

function optional<T>(text: string | undefined, read: (text: string) => T): T | undefined {
  return text === undefined ? undefined : read(text);
}

const { getReports, getReportDocument } = reportOperations;
/** Default rates and bursts, for the help. */
const ratesText = `${eventLimits.rate}; ${getReports.rate} for getReports, ${getReportDocument.rate} for getReportDocument`;
const servedBurstsText = `${burstsText}, and for getReports; ${getReportDocument.burst} for getReportDocument`;

/** The options of one of the two backends, which are errors with the other one. */
const backendOptions = { lake: ['account', 'cache', 'time-zone'], seller: ['events', 'profile', 'seed'] } as const;

function refuseOptionsOfOtherBackend(args: CommandArguments, served: keyof typeof backendOptions): void {
  const [other, reason] =
    served === 'lake' ? (['seller', 'without --lake'] as const) : (['lake', 'with --lake'] as const);
  // The seed also draws the faults of a lake's answers.
  const isIntended = (option: string): boolean => option === 'seed' && args.text('faults') !== undefined;
  const name = backendOptions[other].find((option) => args.text(option) !== undefined && !isIntended(option));
  if (name !== undefined) throw usageError(`expected --${name} only ${reason}; leave it out`);
}

/** Throws a USAGE error for an address that other machines reach, unless that is intended. */
function refuseWithoutSignIn(host: string, isIntended: boolean): void {
  if (isIntended || isLoopbackHost(host)) return;
  throw usageError(
    `expected a sign-in for --host ${quoted(host)}, which other machines can reach, got none; set ${idName} and ${secretName}, ` +
      'leave out --host to listen on loopback, or use --allow-open to let everybody read everything',
  );
}

/** Host names in small letters. Throws a USAGE error for an invalid one. */
function hostsOf(text: string): readonly string[] {
  const names = text.toLowerCase().split(',');
  const wrong = names.find((name) => !/^[a-z0-9._-]+$|^\[[0-9a-f:.]+\]$/.test(name));
  if (wrong === undefined) return names;
  throw usageError(`expected --allow-host to be comma-separated names without ports, got ${JSON.stringify(wrong)}`);
}

export const serveCommand: CommandDefinition = {
  name: 'serve',
  about: 'Serve the Financial Events Service over HTTP, from a lake or a synthetic seller',
  description: async () => {
    const { faultLines } = await import('../../emulator/faults/fault-settings.js');
    return (
      'Serves the Financial Events Service from the stored bytes of the lake --lake, or without --lake from a synthetic\n' +
      'seller; the same seed produces the same seller. The first line of standard output is the address. Standard error\n' +
      'has one line per request. GET /healthz reports the health, and GET / shows the report of the lake, unless a\n' +
      `sign-in is required. With ${idName} and ${secretName} in the\n` +
      'environment, POST /auth/o2/token issues access tokens, and every operation requires one.\n\n' +
      '--faults injects faults of the live service: a comma-separated list of KIND, KIND=SHARE or KIND:N=SHARE, with\n' +
      'SHARE from 0 to 1. all=SHARE chooses evenly among the kinds marked *, which fail one request and let the next one\n' +
      'pass. The same seed injects the same faults. The kinds, each with its default N:\n\n' +
      faultLines().join('\n')
    );
  },
  options: {
    lake: { about: `Lake to serve: a folder, or ${remoteForm} [default: none, a synthetic seller]` },
    account: { about: 'Account of the lake to serve [default: its only account]' },
    ...shared('config', 'cache', 'time-zone'),
    host: { default: '127.0.0.1', about: 'Address to listen on' },
    port: { default: '8080', about: 'Port to listen on; 0 picks a free one' },
    'allow-host': {
      about:
        'Host names to accept besides localhost and *.amazon.com, comma-separated [default: none on loopback, ' +
        'any with another --host]',
    },
    'allow-open': {
      isFlag: true,
      about: 'Allow a --host other than loopback without a sign-in: everybody who reaches it can read everything',
    },
    seed: { about: 'Seed of the synthetic seller and of the faults [default: 1]' },
    events: { about: 'Events of the synthetic seller in 90 days [default: 20000]' },
    profile: {
      about:
        'plausible: a typical seller; edge-cases: a seller for tests, with everything that a client has to handle ' +
        '[default: plausible]',
    },
    rate: { about: `Requests per second for each operation [default: ${ratesText}]` },
    burst: { about: `Requests that each operation accepts at once [default: ${servedBurstsText}]` },
    'token-life': { about: 'Minutes for which a NextToken is valid [default: for ever]' },
    latency: { about: 'Latency of an answer in milliseconds: MS, or MIN-MAX [default: none]' },
    faults: { about: 'Faults to inject, as above' },
  },
  examples: [
    ['serve --lake data/lake --rate 100 --burst 1000', 'a lake, faster than the original service'],
    ['serve --port 0 --seed 7 --events 1000', 'a small seller on a free port'],
    ['serve --token-life 3 --latency 400 --faults all=0.1,window-limit:14', 'a service on a bad day'],
  ],
  run: async (args, { clock, signal, emit }) => {
    const lake = args.text('lake');
    refuseOptionsOfOtherBackend(args, lake === undefined ? 'seller' : 'lake');
    const seed = wholeNumber('--seed', args.text('seed') ?? '1', 0);
    const events = wholeNumber('--events', args.text('events') ?? '20000', 0);
    const profile = optional(args.text('profile'), profileOf) ?? 'plausible';
    const server = {
      clock,
      seed,
      host: args.required('host'),
      port: wholeNumber('--port', args.required('port'), 0),
      quota: {
        rate: optional(args.text('rate'), (text) => positiveNumber('--rate', text)),
        burst: optional(args.text('burst'), (text) => wholeNumber('--burst', text, 1)),
      },
      tokenLifeMs: optional(
        args.text('token-life'),
        (text) => positiveNumber('--token-life', text, 'of minutes') * 60_000,
      ),
      latencyMs: optional(args.text('latency'), latencyOf),
      injectFaults: await injectionOf(args.text('faults')),
      allowedHosts: optional(args.text('allow-host'), hostsOf),
      signIn: signInOf(process.env),
    };
    refuseWithoutSignIn(server.host, server.signIn !== undefined || args.flag('allow-open'));
    const { serve } = await import('../serve/run-server.js');
    const serving = { server, signal, print: printResult, emit };
    if (lake === undefined) {
      const { createSeller } = await import('../../emulator/seller/seller.js');
      const backend = createSeller({ seed, events, profile }, clock);
      const checkHealth = () => Promise.resolve({ serves: 'seller' });
      await serve({ ...serving, served: { backend, name: 'a synthetic seller', checkHealth } });
      return 0;
    }
    const { openServedLake } = await import('../serve/serve-lake.js');
    const question = { ...(await readLakeSettings(args)), lake, account: args.text('account') };
    const { account, ...served } = await openServedLake(question, clock, emit);
    try {
      const name = `a lake, account ${account}`;
      await serve({ ...serving, server: { ...server, quotaOf: 'server' }, served: { ...served, name } });
    } finally {
      served.backend.close();
    }
    return 0;
  },
};

/** The fault injection of a list such as `all=0.1`; undefined without a list. Throws a USAGE error for an invalid list. */
async function injectionOf(list: string | undefined): Promise<FaultInjection | undefined> {
  if (list === undefined) return undefined;
  const [{ parseFaults }, { faultInjection }] = await Promise.all([
    import('../../emulator/faults/fault-settings.js'),
    import('../../emulator/emulator.js'),
  ]);
  return faultInjection(parseFaults(list));
}
