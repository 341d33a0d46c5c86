import type { Sheet } from '../../core/text/workbook.js';
import { coverageSection } from './coverage-section.js';
import { earnedSection } from './earned-section.js';
import { feesSection } from './fees-section.js';
import { lateSection } from './late-section.js';
import { payoutLinesSection } from './payout-lines-section.js';
import { reconciliationSection } from './reconciliation-section.js';
import { refundsSection } from './refunds-section.js';
import { basisHtml, timeZoneText } from './basis.js';
import { plainText, type Html } from './html.js';
import { sheetColumns, type ReportedAccount, type Section, type SectionContent } from './section.js';
import { settlementReportsSection } from './settlement-reports-section.js';
import { settlementSection } from './settlement-section.js';
import { sharesSection } from './shares-section.js';
import { skusSection } from './skus-section.js';
import { warningsSection } from './warnings-section.js';

/** The sections of the report, in the order of the page. */
const sections: readonly Section[] = [
  earnedSection,
  sharesSection,
  settlementSection,
  payoutLinesSection,
  settlementReportsSection,
  reconciliationSection,
  skusSection,
  feesSection,
  refundsSection,
  coverageSection,
  lateSection,
  warningsSection,
];

/** The sheets that come first in a workbook; the others follow in the order of the page. */
const firstSheets = ['earned', 'fees', 'skus', 'refunds'];

const sheets = sections
  .flatMap(({ sheet }) => sheet ?? [])
  .toSorted((one, other) => sheetPlace(one.name) - sheetPlace(other.name));

function sheetPlace(name: string): number {
  const at = firstSheets.indexOf(name);
  return at === -1 ? firstSheets.length : at;
}

/** The table of what the page says beside its figures: their basis, and what to check. */
const notes = { name: 'notes', columns: sheetColumns({ note: 'text' }) };

/** Names of the sheets. */
export const sheetNames: readonly string[] = [...sheets, notes].map(({ name }) => name);

/** An account with what each section shows of it. */
export interface AccountChapter extends ReportedAccount {
  readonly sections: readonly (Section & SectionContent)[];
}

export async function readSections(account: ReportedAccount): Promise<AccountChapter> {
  const read: (Section & SectionContent)[] = [];
  for (const section of sections) read.push({ ...section, ...(await section.read(account)) });
  return { ...account, sections: read };
}

/** What an accountant should check before trusting the figures, and the currency of each where it is of one. */
export function concernsOf({ chapters, sections: read }: AccountChapter): { concern: Html; currency?: string }[] {
  const ofCurrencies = chapters.flatMap((chapter) =>
    read.flatMap(({ currencyConcerns }) =>
      (currencyConcerns?.(chapter) ?? []).map((concern) => ({ concern, currency: chapter.currency })),
    ),
  );
  const ofAccount = read.flatMap(({ concerns = [] }) => concerns.map((concern) => ({ concern })));
  return [...ofCurrencies, ...ofAccount].flatMap(({ concern, ...of }) =>
    concern === false ? [] : [{ concern, ...of }],
  );
}

/** The tables of a report for other programs, with exact amounts; each has all accounts and currencies. */
export function reportSheets(accounts: readonly AccountChapter[], location: string): readonly Sheet[] {
  const keys = sheetColumns({ account: 'text', currency: 'text' });
  return [
    ...sheets.map(({ name, columns }) => ({
      name,
      columns: [...keys, ...columns],
      rows: accounts.flatMap(({ account, sections: read }) =>
        read.flatMap(({ sheet, rows = [] }) => (sheet?.name === name ? rows.map((row) => [account, ...row]) : [])),
      ),
    })),
    {
      name: notes.name,
      columns: [...keys, ...notes.columns],
      rows: accounts.flatMap((chapter) => [
        [chapter.account, null, plainText(basisHtml(chapter.basis, location))],
        [chapter.account, null, timeZoneText(chapter.report.timeZone)],
        ...concernsOf(chapter).map(({ concern, currency }) => [chapter.account, currency ?? null, plainText(concern)]),
      ]),
    },
  ];
}
