import { shellWord } from '../status/backfill-command.js';
import { rm, writeFile } from 'node:fs/promises';
import {
  commentedConfiguration,
  secretVariables,
  type FirstAccount,
} from '../configuration/commented-configuration.js';
import { nearestName } from '../../core/text/nearest-name.js';
import { regionNames, type Region } from '../configuration/regions.js';
import { messageOf, usageError } from '../../core/errors.js';
import { readAccountName } from '../configuration/account.js';
import type { CommandContext } from '../context.js';
import { configurationFile } from '../configuration/read-configuration.js';
import { printable } from '../../core/printable.js';

export interface InitOptions {
  /** The file to write. */
  readonly file: string;
  /** Undefined: asked for, or the example's. */
  readonly account: string | undefined;
  readonly region: string | undefined;
  /** Asks the user; the answer, or undefined where there is none. Left out where there is nobody to ask. */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
}

const example: FirstAccount = { account: 'my-shop', region: 'eu' };

/**
 * `ledgerlake init`: writes a first configuration, explained, and tells what to do next.
 *
 * @throws LedgerlakeError USAGE for a name or a region that isn't one, and for a file that is there already or can't be
 * written: it is never overwritten, nor left half-written
 */
export async function init(
  { file, account, region, ask }: InitOptions,
  { print }: Pick<CommandContext, 'print'>,
): Promise<void> {
  const chosen = {
    account: readAccountName(account ?? (await answer(ask, 'Name of the account', example.account))),
    region: readRegion(region ?? (await answer(ask, `Region (${regionNames.join(', ')})`, example.region))),
  };
  await create(file, commentedConfiguration(chosen));
  const given = file === configurationFile ? '' : ` --config ${printable(shellWord(file))}`;
  print(
    [
      `Wrote ${printable(file)}. Next:`,
      '',
      `  1. set ${secretVariables(chosen.account).join(',\n     ')}`,
      `  2. npx ledgerlake accounts check${given}`,
      `  3. npx ledgerlake plan${given}`,
      `  4. npx ledgerlake backfill${given}`,
    ].join('\n'),
  );
}

async function answer(ask: InitOptions['ask'], question: string, preset: string): Promise<string> {
  const given = (await ask?.(`${question} [${preset}]: `))?.trim() ?? '';
  return given === '' ? preset : given;
}

function readRegion(text: string): Region {
  const known = regionNames.find((region) => region === text);
  if (known !== undefined) return known;
  const nearest = nearestName(text, regionNames);
  const hint = nearest === undefined ? 'choose one' : `did you mean ${nearest}?`;
  throw usageError(`expected a region (${regionNames.join(', ')}), got ${JSON.stringify(text)}: ${hint}`);
}

async function create(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') {
      throw usageError(
        `expected no file ${file}, there is one: it is not overwritten; move it, or name another --config`,
      );
    }
    // A full disk leaves a part: it is this run's own, as `wx` opened it.
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EIO') await rm(file, { force: true });
    throw usageError(`expected a place where ${file} can be written (${messageOf(error)}): name another with --config`);
  }
}
