import { withoutTexts, wordsOf } from '../../core/duckdb/sql-statements.js';
import { viewStatements } from './views.js';

/** Functions and statements whose text may lack the names of the tables that they read. */
const computed = ['query', 'query_table', 'json_execute_serialized_sql', 'import'] as const;

/** Words of statements that list or copy views which they don't name. */
const listing = /^(?:show|describe|export|database|information_schema|(?:duckdb|pragma|pg|sqlite)_\w+|pragma)$/;

/** A view or a macro by its name, and the words in its definition. */
interface Definition {
  readonly statement: string;
  readonly name: string;
  readonly words: ReadonlySet<string>;
}

/** Which tables statements can read, by the words in them. */
export class NamedTables {
  readonly #tables: readonly string[];
  /** The views and macros, newest first: each reads earlier ones only. */
  readonly #definitions: readonly Definition[];
  /** The words of all statements so far: a view or a prepared statement that one of them made reads its tables in a later one. */
  readonly #words = new Set<string>();

  /** `definitions`: statements that create views and macros over the tables, as `CREATE OR REPLACE VIEW NAME AS …`; comments don't count. */
  constructor(tables: readonly string[], definitions: readonly string[]) {
    this.#tables = tables;
    this.#definitions = definitionsOf(definitions);
  }

  /** The tables that a statement can read; more than it reads, where a column has the name of a table. */
  in(statement: string): readonly string[] {
    for (const word of wordsOf(statement)) this.#words.add(word);
    if (computed.some((word) => this.#words.has(word))) return this.#tables;
    const words = withDefinitions(this.#words, this.#definitions);
    return this.#tables.filter((table) => words.has(table.toLowerCase()));
  }

  /** The statements that create the views and macros which a statement can read, oldest first: all where it can list them, and without one. */
  definitionsIn(statement?: string): readonly string[] {
    const words = wordsOf(statement ?? '');
    const isAny =
      statement === undefined ||
      computed.some((word) => words.has(word)) ||
      [...words].some((word) => listing.test(word));
    const read = withDefinitions(words, this.#definitions);
    return this.#definitions
      .filter(({ name }) => isAny || read.has(name))
      .map((definition) => definition.statement)
      .toReversed();
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

const ownDefinitions = definitionsOf([...viewStatements([]).values()]);

/** The words of a statement outside of its quoted texts, and those of the views that it names: every table and view that it reads is among them. */
export function namesIn(statement: string): ReadonlySet<string> {
  return withDefinitions(wordsOf(withoutTexts(statement)), ownDefinitions);
}
