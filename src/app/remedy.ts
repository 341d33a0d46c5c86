import { shellWord } from '../core/text/shell-word.js';
import { moveWords } from '../lake/store/open-store.js';
import { endpointToName, type LastRuns } from '../lake/upkeep/last-run.js';
import {
  commandIn,
  loadCommand,
  loadingCommand,
  programCommand,
  type LoadArguments,
  type LoadingArguments,
} from './command-text.js';

/** What repairs a problem of a lake. */
export type Remedy =
  /** Moves a file, which is none of the lake's, out of the tables' folders. */
  | { readonly kind: 'move'; readonly file: string }
  /** Copies to a backup what it lacks of its lake, once a damaged file is moved away. */
  | { readonly kind: 'backup'; readonly of: string; readonly damaged?: string }
  /** Restores the catalog, and takes damaged files out. */
  | { readonly kind: 'repair' }
  /** Loads windows that the lake lacks. */
  | ({ readonly kind: 'load' } & LoadingArguments)
  /** Reads rows again, of a range or of orders. */
  | ({ readonly kind: 'reread'; readonly pipeline: string } & Pick<LoadArguments, 'account' | 'range' | 'orders'>)
  /** Names the command that loads what is missing. */
  | { readonly kind: 'status' }
  /** Derives the derived tables again, which costs no quota. */
  | { readonly kind: 'rebuild' }
  /** Reads and writes every file. */
  | { readonly kind: 'compact' };

/**
 * The order in which remedies are to be applied: those that read rows again come before those that derive other rows from them;
 * those that read every file come last.
 */
export const remedyRanks: Readonly<Record<Remedy['kind'], number>> = {
  move: 0,
  repair: 0,
  backup: 1,
  load: 1,
  reread: 1,
  status: 1,
  rebuild: 2,
  compact: 3,
};

/** A lake as commands name it. */
export interface NamedLake {
  /** As the user wrote it. */
  readonly location: string;
  readonly lastRuns: LastRuns;
  /** The configuration file; undefined: commands don't name it. */
  readonly config?: string | undefined;
}

/** The command that applies a remedy, quoted for a shell. */
export function remedyCommand(remedy: Remedy, { location, lastRuns, config }: NamedLake): string {
  const scope = { lake: location, config };
  switch (remedy.kind) {
    case 'move':
      return moveCommand(location, remedy.file);
    case 'backup': {
      const command = programCommand(['backup', location, '--lake', remedy.of]);
      return remedy.damaged === undefined ? command : `${moveCommand(location, remedy.damaged)} && ${command}`;
    }
    case 'load':
      return commandIn({ ...scope, endpoint: endpointToName(lastRuns, remedy.account) }, loadingCommand(remedy));
    case 'reread': {
      const { pipeline, account, range, orders } = remedy;
      const rows = { pipelines: [pipeline], account, range, orders, endpoint: endpointToName(lastRuns, account) };
      return loadCommand('backfill', { ...scope, ...rows, refresh: true });
    }
    case 'repair':
    case 'status':
    case 'rebuild':
    case 'compact':
      return commandIn(scope, `ledgerlake ${remedy.kind}`);
  }
}

/** The command that moves a file to a name in the lake that no reader takes for data. */
function moveCommand(location: string, file: string): string {
  const root = location.replace(/\/+$/, '');
  const addresses = [`${root}/${file}`, `${root}/_moved-${file.replaceAll('/', '-')}`];
  return [...moveWords(location), ...addresses].map(shellWord).join(' ');
}
