import { dirname } from 'node:path';
import type { Clock } from '../../core/clock.js';
import { withKnown, type CommandResult } from '../command-result.js';
import { withCommandsIn } from '../command-text.js';
import type { ReadingContext, RunContext } from '../context.js';
import type { CatalogVersion, Certificate, Check, Problem } from '../results.js';
import { tables } from '../../sources/finances/lake-tables.js';
import { refuseUnknownAccount } from '../configuration/account.js';
import { existingLake } from '../../lake/existing-lake.js';
import { usageError } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { formatCount } from '../../core/text/amounts.js';
import { chunksOf, writeRows, type Format } from '../../core/text/formats.js';
import type { ResultColumn, ResultRows } from '../../core/text/rows.js';
import { terminalWidth, writeText, type Output } from '../../core/text/sink.js';
import type { Lake } from '../../lake/lake.js';
import { hasFile } from '../../lake/store/store.js';
import { wrapWords } from '../../core/text/width.js';
import { catalogLine, catalogVersion } from '../catalog-version.js';
import { checks as definitions } from './check-list.js';
import { problemRemedy, type CertificateBuilder, type CheckDefinition, type FoundProblem } from './common/check.js';
import { remedyCommand, remedyRanks, type Remedy } from '../remedy.js';
import { verifyLake } from './verify-lake.js';
import { backedUpLake } from '../../lake/upkeep/backup-notes.js';
import { endpointToName, readLastRuns } from '../../lake/upkeep/last-run.js';
import { printable, shortenMessage } from '../../core/printable.js';
import { isoInstant } from '../../core/numeric/instant.js';

export interface VerifyCommand {
  readonly lake: string;
  /** Undefined: every account. */
  readonly account?: string | undefined;
  /** The configuration file of the command line, for commands that are printed. */
  readonly config?: string | undefined;
  readonly format: Format;
  /** Whether findings about the service fail too. */
  readonly strict: boolean;
  /** `VERSION:HASH`: a version of the catalog that the lake must have; undefined: none. */
  readonly expect?: string | undefined;
  /** Whether the table prints only what makes the exit code 1. */
  readonly quiet?: boolean;
}

/**
 * `ledgerlake verify`: proves the lake and writes a certificate of completeness. The exit code is 1 where
 * something is wrong with the lake itself, and with `strict` also where the service contradicts itself.
 *
 * `table` is for people, `json` is a `Certificate` of the library. `csv` and `ndjson` have a row for each problem, and
 * for each check without a problem one row in which `kind` and the columns after it are null.
 *
 * @throws LedgerlakeError USAGE where there is no lake, and for an account that is not among those of the lake;
 * LAKE_STORE where the lake can't be read; LAKE_LOG where its log is damaged, cut off or from a newer program
 */
export async function verify(options: VerifyCommand, context: ReadingContext): Promise<CommandResult> {
  const { lake, account } = options;
  const verified = await withKnown(certify(options, context), () => ({ account, lake }));
  const { certificate, found } = verified;
  const kinds = failingKinds(options);
  const problems = kinds.reduce((sum, kind) => sum + found[kind], 0);
  const first = certificate.problems.find(({ kind }) => kinds.includes(kind));
  const firstText = first && shortenMessage([first.check, first.file, first.problem].filter(Boolean).join(' '));
  const summary = { account, lake, problems, first_problem: firstText };
  await withKnown(writeVerified(verified, options, context.output), () => summary);
  const [status, exitCode] = problems > 0 ? (['failed', 1] as const) : (['done', 0] as const);
  return { text: '', summary: { ...summary, status }, exitCode };
}

async function writeVerified(verified: Verified, options: VerifyCommand, output: Output): Promise<void> {
  const { certificate } = verified;
  if (options.format === 'json') await writeText(output, [`${JSON.stringify(certificate, undefined, 2)}\n`]);
  else if (options.format === 'table') await writeTable(verified, options, output);
  else await writeRows(output, options.format, flatColumns, chunksOf(flatRows(certificate)));
}

/** The kinds of problems that make the exit code 1. */
function failingKinds({ strict }: VerifyCommand): readonly Problem['kind'][] {
  return strict ? ['lake', 'upstream'] : ['lake'];
}

/** The certificate of a lake, and the number of its problems of each kind, including those that it doesn't list. */
interface Verified {
  readonly certificate: Certificate;
  readonly found: Readonly<Record<Problem['kind'], number>>;
}

/**
 * Verifies a lake.
 *
 * @throws as {@link verify}
 */
export async function certify(
  options: Pick<VerifyCommand, 'lake' | 'account' | 'config' | 'expect'>,
  { clock, signal, emit }: RunContext,
): Promise<Verified> {
  const expected = options.expect === undefined ? undefined : readExpected(options.expect);
  const lake = await openVerifiedLake(options, clock);
  const catalog = catalogVersion(lake);
  const builder = await verifyLake({ lake, account: options.account, expected, clock, signal, emit });
  const problems = await problemsWithCommands(builder, lake, options);
  const found = { lake: builder.found('lake'), upstream: builder.found('upstream'), note: builder.found('note') };
  const certificate: Certificate = {
    lake: options.lake,
    account: options.account ?? null,
    verified_at: isoInstant(clock.now()),
    catalog,
    verdict: found.lake > 0 ? 'broken' : found.upstream > 0 ? 'findings' : 'whole',
    checks: builder.results(),
    problems,
  };
  return { certificate, found };
}

/** @throws LedgerlakeError USAGE */
function readExpected(text: string): CatalogVersion {
  const [, version, hash] = /^(\d{1,15}):([0-9a-f]{64})$/i.exec(text) ?? [];
  if (version !== undefined && hash !== undefined) return { version: Number(version), hash: hash.toLowerCase() };
  throw usageError(
    `expected --expect VERSION:HASH as \`status\` and \`verify\` show them, such as 42:9f86…, got ${JSON.stringify(text)}`,
  );
}

async function openVerifiedLake(
  { lake: location, account }: Pick<VerifyCommand, 'lake' | 'account'>,
  clock: Clock,
): Promise<Lake> {
  const lake = await existingLake({ lake: location }, tables, { clock });
  // A lake of which everything was forgotten still has its logs: it is verified.
  if (!lake.tables.some(({ name }) => lake.snapshot.tables.has(name))) {
    throw usageError(
      `expected a lake to verify at ${location}, got an empty one; check --lake, \`ledgerlake status\` names the command that loads it`,
    );
  }
  refuseUnknownAccount(account, lake.snapshot.accounts(), location);
  return lake;
}

/** The problems with the commands that repair them, in the order in which the commands are to be run. */
async function problemsWithCommands(
  builder: CertificateBuilder,
  lake: Lake,
  { lake: location, config }: Pick<VerifyCommand, 'lake' | 'config'>,
): Promise<readonly Problem[]> {
  const lastRuns = await readLastRuns(lake.store);
  const folderOf = ({ check, file }: FoundProblem) => `${check.name} ${dirname(file)}`;
  const byFolder = groupBy(builder.problems(), folderOf);
  const source = await backedUpLake(lake.store, location, lake.snapshot.version);
  const withRemedies: { found: FoundProblem; remedy: Remedy | undefined; of: string }[] = [];
  for (const found of builder.problems()) {
    // Where many files of a folder are damaged, one command reads the whole month again.
    const isOneOfMany = (byFolder.get(folderOf(found)) ?? []).length > mostAlike;
    const remedy = problemRemedy(isOneOfMany ? { ...found, loadKey: '' } : found, lake);
    const copying = source === undefined ? remedy : await backupRemedy(found, remedy, source, lake);
    withRemedies.push({
      found,
      remedy: copying ?? remedy,
      of: copying === undefined ? (source ?? location) : location,
    });
  }
  const rankOf = ({ remedy }: { remedy: Remedy | undefined }) => (remedy === undefined ? 0 : remedyRanks[remedy.kind]);
  return withRemedies
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .map(({ found, remedy, of }) => {
      const { check, kind, table, file, loadKey, account } = found;
      const endpoint = account === undefined ? undefined : endpointToName(lastRuns, account);
      return {
        check: check.name,
        kind,
        table,
        file,
        slice: loadKey,
        problem: withCommandsIn({ lake: of, config, endpoint }, found.problem),
        command: remedy === undefined ? null : remedyCommand(remedy, { location: of, lastRuns, config }),
      };
    });
}

/**
 * What repairs a problem of a backup: the next backup replaces a file that is damaged, missing or left over. Undefined where it is
 * repaired in the lake, which has the problem too.
 *
 * @param remedy what would repair it in a lake
 * @param of the lake of which it is a backup
 */
async function backupRemedy(
  { check, file }: FoundProblem,
  remedy: Remedy | undefined,
  of: string,
  { store }: Lake,
): Promise<Remedy | undefined> {
  const isLeftOver = remedy?.kind === 'compact';
  if (check.bytes !== undefined || isLeftOver) {
    const isDamaged = !isLeftOver && (await hasFile(store, file));
    return { kind: 'backup', of, ...(isDamaged && { damaged: file }) };
  }
  return remedy?.kind === 'move' || check.isOfCatalog === true ? remedy : undefined;
}

/** Writes the table of checks, a paragraph for each problem, and the verdict. */
async function writeTable({ certificate, found }: Verified, options: VerifyCommand, output: Output): Promise<void> {
  const { catalog, checks, problems } = certificate;
  const isQuiet = options.quiet === true;
  const kinds: readonly Problem['kind'][] = isQuiet ? failingKinds(options) : ['lake', 'upstream', 'note'];
  const total = kinds.reduce((sum, kind) => sum + found[kind], 0);
  const width = terminalWidth(output);
  if (!isQuiet && width !== undefined && width < tableWidth) await writeText(output, checkLines(checks));
  else if (!isQuiet) {
    await writeRows(output, 'table', checkColumns, chunksOf(checks.map(checkCells)), { footer: false });
  }
  const listed = problems.filter(({ kind }) => kinds.includes(kind));
  await writeText(output, problemLines(listed, total - listed.length, width));
  if (!isQuiet && catalog !== null) await writeText(output, [`\n${catalogLine(catalog)}`]);
  if (!isQuiet || total > 0) {
    await writeText(output, [`\n${paragraph(verdictLine(options, certificate, found), width)}\n`]);
  }
}

const checkColumns: readonly ResultColumn[] = [
  { name: 'check', kind: 'text' },
  { name: 'what', kind: 'text' },
  { name: 'checked', kind: 'number' },
  { name: 'of', kind: 'text' },
  { name: 'result', kind: 'text' },
];

/** Width of the table, in cells of the terminal. */
const tableWidth = 122;

/** The checks as lines, for a terminal that is too narrow for the table. */
function checkLines(results: readonly Check[]): string[] {
  const cells = results.map(checkCells);
  const [checks, words] = [0, 4].map((at) => Math.max(...cells.map((row) => String(row[at]).length)));
  return cells.map(
    ([check, about, checked, counts, result]) =>
      `${String(result).padEnd(words ?? 0)}  ${String(check).padEnd(checks ?? 0)}  ${formatCount(Number(checked))} ${String(counts)}\n` +
      `${' '.repeat((words ?? 0) + 2)}${String(about)}\n`,
  );
}

function paragraph(text: string, width: number | undefined): string {
  return width === undefined ? text : wrapWords(text, width).join('\n');
}

function checkCells({ check, about, checked, counts, result, found }: Check) {
  const words = result === 'failed' || result === 'finding' || result === 'note' ? `${result}: ${found}` : result;
  return [check, about, checked, counts, words];
}

/** Problems of one check and table that the same command mends and the table lists; further ones are counted. */
const mostAlike = 3;

/**
 * A paragraph for each problem, as a table would cut the names of files. A missing folder would fill pages: JSON lists
 * each of its files.
 */
function problemLines(problems: readonly Problem[], hidden: number, width: number | undefined): string[] {
  // In a backup a damaged file is moved away first: the command that copies it again is the last one.
  const mending = ({ command }: Problem) => command?.split(' && ').at(-1);
  const groups = groupBy(problems, (problem) =>
    JSON.stringify([problem.check, problem.kind, problem.table, mending(problem)]),
  );
  const lines = [...groups.values()].flatMap((alike) => [
    ...alike.slice(0, mostAlike).map((problem) => problemText(problem, width)),
    ...(alike.length > mostAlike ? [`\n${paragraph(moreText(alike), width)}\n`] : []),
  ]);
  return hidden > 0 ? [...lines, `\nand ${formatCount(hidden, 'more problem')}, which are not listed\n`] : lines;
}

function problemText(
  { check, kind, table, file, slice, problem, command }: Problem,
  width: number | undefined,
): string {
  const location = [table, slice, file].filter((text) => text !== '').join('  ');
  return `\n${paragraph(`${kind} ${check}: ${printable(shortenMessage(problem))}`, width)}\n  ${printable(shortenMessage(location))}\n${command === null ? '' : `  ${printable(command)}\n`}`;
}

function moreText(alike: readonly Problem[]): string {
  const [{ check, kind, table, command } = { check: '', kind: '', table: '', command: null }] = alike;
  const whose = table === '' ? '' : ` of ${printable(table)}`;
  const isSame = alike.every((problem) => problem.command === command);
  const remedy = command === null ? '' : isSame ? ', which the same command mends' : ', each with a command of its own';
  return `${kind} ${check}: ${formatCount(alike.length - mostAlike)} more${whose}${remedy}; --format json lists them`;
}

function verdictLine(
  { lake, strict }: VerifyCommand,
  { checks, problems }: Certificate,
  found: Verified['found'],
): string {
  const where = printable(lake);
  const resultOf = (is: (definition: CheckDefinition) => boolean) => {
    const name = definitions.find(is)?.name;
    return checks.find(({ check }) => check === name);
  };
  const counted = (noun: CheckDefinition['verdict']) => resultOf(({ verdict }) => verdict === noun)?.checked ?? 0;
  // Custom tables alone have no events.
  const nouns =
    counted('event') === 0 ? (['file', 'row'] as const) : (['file', 'event', 'amount', 'closed group'] as const);
  const what = nouns.map((noun) => formatCount(counted(noun), noun)).join(', ');
  const broken = found.lake;
  const ranges = resultOf(({ findsUnloaded }) => findsUnloaded === true);
  const requested = ranges?.result === 'finding' ? ranges : undefined;
  const isOne = requested?.found === 1;
  const lacking = `${formatCount(requested?.found ?? 0, 'range')} that ${isOne ? 'was' : 'were'} requested`;
  const findings = found.upstream - (requested?.found ?? 0);
  const upstream = findings === 0 ? '' : `, ${formatCount(findings, 'finding')} about the data of the service`;
  const notes = found.note === 0 ? '' : `, ${formatCount(found.note, 'note')}`;
  if (broken > 0) return `NOT WHOLE: ${where} has ${formatCount(broken, 'problem')}${upstream}${notes} (${what})`;
  if (requested !== undefined && strict) return `NOT WHOLE: ${where} lacks ${lacking}${upstream}${notes} (${what})`;
  const [loads] = problems.flatMap(({ check, command }) =>
    check === ranges?.check && command !== null ? [command] : [],
  );
  const remedy = isOne && loads !== undefined ? `run \`${loads}\`` : 'run the commands above';
  const but = requested === undefined ? '' : `, but ${lacking} ${isOne ? 'is' : 'are'} not loaded: ${remedy}`;
  if (counted('file') === 0) return `Nothing to verify: ${where} has no file${but}${notes}`;
  const hint = found.upstream > 0 && !strict ? '; with --strict the exit code is 1' : '';
  return `WHOLE${but === '' ? ':' : `${but};`} ${where} has exactly what was read${upstream}${hint}${notes} (${what})`;
}

const flatNames = ['check', 'checked', 'counts', 'result', 'kind', 'table', 'file', 'slice', 'problem'];
const flatColumns = flatNames.map((name): ResultColumn => ({ name, kind: name === 'checked' ? 'number' : 'text' }));

function flatRows({ checks, problems }: Certificate): ResultRows {
  return checks.flatMap(({ check, checked, counts, result }) => {
    const ofCheck = problems.filter((problem) => problem.check === check);
    const head = [check, checked, counts, result];
    if (ofCheck.length === 0) return [[...head, null, null, null, null, null]];
    return ofCheck.map(({ kind, table, file, slice, problem }) => [...head, kind, table, file, slice, problem]);
  });
}
