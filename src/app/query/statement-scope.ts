import { withoutTexts, wordsOf } from '../../core/duckdb/sql-statements.js';
import { emptyWithout, isMacro, viewStatements } from './views.js';

/** Functions and statements whose text may lack the names of the tables that they read. */
const computed = ['query', 'query_table', 'json_execute_serialized_sql', 'import'] as const;

/** Words of statements that list or copy views which they don't name. */
const listing = /^(?:show|describe|export|database|information_schema|(?:duckdb|pragma|pg|sqlite)_\w+|pragma)$/;

/** What a statement names, and what it can read by that. */
export interface StatementScope {
  /** The words outside of its quoted texts. */
  readonly words: ReadonlySet<string>;
  /** The same and those of the views that it names: every table and view that it reads is among them. */
  readonly names: ReadonlySet<string>;
  /** The tables and views behind its FROM and JOIN, in their order. */
  readonly relations: readonly Relation[];
  /** The calls of macros with a quoted instant. */
  readonly instants: readonly { readonly macro: string; readonly instant: number }[];
  /** The tables that it can read; more than it reads, where a column has the name of a table. */
  readonly tables: readonly string[];
  /** The statements that create the views and macros which it can read, oldest first: all where it can list them. */
  readonly definitions: readonly string[];
  /** Whether it can read a view or a macro. */
  readonly canRead: (name: string) => boolean;
}

interface Relation {
  readonly name: string;
  /** The tables of which it has rows, in the order of its text; it is empty where each of them is. None for a macro. */
  readonly tables: readonly string[];
}

/** A view or a macro by its name, and the words in its definition. */
interface Definition {
  readonly statement: string;
  readonly name: string;
  readonly words: ReadonlySet<string>;
}

const viewTexts = [...viewStatements([]).values()];

/**
 * The scopes of the statements of one session, by their words: a table or view counts as read where its name is a word of the statement, of
 * a view that it names, or of an earlier statement. So more may be read than is: a column, an alias or a CTE with the name of a table
 * makes its files checked and fetched, and its views created, in vain, and may add a note on it. The result is the same. Views keep it
 * rare: names of their own end with `_`. Fewer tables than are read would leave a file out, so a statement whose text may lack names (`computed`) reads all.
 *
 * DuckDB's `getTableNames` doesn't do: it needs the views, which are created for the statements that may read them, and it returns no name
 * for a statement with parameters, for EXECUTE, for PIVOT and for several statements.
 */
export class StatementScopes {
  readonly #tables: readonly string[];
  /** The views, newest first: each reads earlier ones only. */
  readonly #views: readonly Definition[];
  /** The macros and the views, newest first. */
  readonly #definitions: readonly Definition[];
  /** The words of all statements so far: a view or a prepared statement that one of them made reads its tables in a later one. */
  readonly #words = new Set<string>();
  #last: { readonly statement: string | undefined; readonly scope: StatementScope } | undefined;

  /**
   * @param views statements that create views over the tables, as `CREATE OR REPLACE VIEW NAME AS …`; comments don't count
   * @param macros statements that create macros over the tables, which no view reads
   */
  constructor(tables: readonly string[], views = viewTexts, macros: readonly string[] = []) {
    this.#tables = tables;
    this.#views = definitionsOf(views);
    this.#definitions = [...this.#views, ...definitionsOf(macros)];
  }

  /** The scope of a statement; without one, that of a statement which can read everything. */
  of(statement?: string): StatementScope {
    if (this.#last === undefined || this.#last.statement !== statement)
      this.#last = { statement, scope: this.#scopeOf(statement) };
    return this.#last.scope;
  }

  #scopeOf(statement: string | undefined): StatementScope {
    const code = withoutTexts(statement ?? '');
    const [words, all] = [wordsOf(code), wordsOf(statement ?? '')];
    for (const word of all) this.#words.add(word);
    const ofSession = withDefinitions(this.#words, this.#definitions);
    const isComputed = statement === undefined || computed.some((word) => this.#words.has(word));
    const read = withDefinitions(all, this.#definitions);
    const isAny =
      statement === undefined || computed.some((word) => all.has(word)) || [...all].some((word) => listing.test(word));
    const canRead = (name: string): boolean => isAny || read.has(name);
    return {
      words,
      names: withDefinitions(words, this.#views),
      relations: this.#relationsOf(code),
      instants: instantsOf(statement ?? ''),
      tables: this.#tables.filter((table) => isComputed || ofSession.has(table.toLowerCase())),
      definitions: this.#definitions
        .filter(({ name }) => canRead(name))
        .map((definition) => definition.statement)
        .toReversed(),
      canRead,
    };
  }

  /** A macro of what was known at an instant counts as its table. */
  #relationsOf(code: string): readonly Relation[] {
    return Array.from(code.matchAll(/\b(?:from|join)\s+"?(\w+)/gi), ([, word = '']) => {
      const name = word.toLowerCase().replace(/_as_known$/, '');
      return { name, tables: isMacro(this.#viewNamed(name)?.statement ?? '') ? [] : this.#tablesUnder(name) };
    });
  }

  /** The tables of which a view has rows. Each of its words that is a view's or a table's name counts as read: its own names end with `_`. */
  #tablesUnder(name: string, above: ReadonlySet<string> = new Set()): readonly string[] {
    const view = this.#viewNamed(name);
    if (view === undefined) return [name];
    const only = emptyWithout.get(name);
    if (only !== undefined) return [only];
    const seen = new Set([...above, name]);
    return [...view.words].filter((word) => !seen.has(word)).flatMap((word) => this.#tablesUnder(word, seen));
  }

  #viewNamed(name: string): Definition | undefined {
    return this.#views.find((view) => view.name === name);
  }
}

/** Views and macros, the newest first. */
function definitionsOf(statements: readonly string[]): Definition[] {
  return statements
    .map((statement) => {
      const code = withoutTexts(statement);
      const [, name = ''] = /CREATE OR REPLACE (?:VIEW|MACRO) "?(\w+)/.exec(code) ?? [];
      return { statement, name: name.toLowerCase(), words: wordsOf(code) };
    })
    .toReversed();
}

/** Words, and those of the definitions that they name. */
function withDefinitions(words: ReadonlySet<string>, newestFirst: readonly Definition[]): ReadonlySet<string> {
  const all = new Set(words);
  for (const definition of newestFirst) {
    if (all.has(definition.name)) for (const word of definition.words) all.add(word);
  }
  return all;
}

/** In milliseconds since 1970; one without a zone is in UTC. */
function instantsOf(statement: string): StatementScope['instants'] {
  return [...statement.matchAll(/\b(\w+)\s*\(\s*(?:\w+\s+)?'([^']*)'/gi)].flatMap(([, macro = '', text = '']) => {
    const zoned = /(?:Z|[+-]\d\d(?::?\d\d)?)$/i.test(text) || !/\d:\d/.test(text) ? text : `${text}Z`;
    const instant = Date.parse(zoned.replace(' ', 'T').replace(/(:.*[+-]\d\d)$/, '$1:00'));
    return Number.isNaN(instant) ? [] : [{ macro, instant }];
  });
}
