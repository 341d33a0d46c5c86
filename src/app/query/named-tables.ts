/** Functions and statements whose text may lack the names of the tables that they read. */
const computed = ['query', 'query_table', 'json_execute_serialized_sql', 'import'] as const;

/** Words of statements that list or copy views which they don't name. */
const listing = /^(?:show|describe|export|database|information_schema|(?:duckdb|pragma|pg|sqlite)_\w+|pragma)$/;

/** Which tables statements can read, by the words in them. */
export class NamedTables {
  readonly #tables: readonly string[];
  /** The views and macros, newest first: each reads earlier ones only. */
  readonly #definitions: readonly { readonly name: string; readonly words: ReadonlySet<string> }[];
  /** The words of all statements so far: a view or a prepared statement that one of them made reads its tables in a later one. */
  readonly #words = new Set<string>();

  /** `definitions`: statements that create views and macros over the tables, as `CREATE OR REPLACE VIEW NAME AS …`; comments don't count. */
  constructor(tables: readonly string[], definitions: readonly string[]) {
    this.#tables = tables;
    this.#definitions = definitions
      .map((definition) => definition.replaceAll(/--.*/g, ''))
      .map((definition) => ({
        name: /CREATE OR REPLACE (?:VIEW|MACRO) "?(\w+)/.exec(definition)?.[1]?.toLowerCase() ?? '',
        words: wordsOf(definition),
      }))
      .toReversed();
  }

  /** The tables that a statement can read; more than it reads, where a column has the name of a table. */
  in(statement: string): readonly string[] {
    for (const word of wordsOf(statement)) this.#words.add(word);
    if (computed.some((word) => this.#words.has(word))) return this.#tables;
    const words = new Set(this.#words);
    for (const definition of this.#definitions) {
      if (words.has(definition.name)) for (const word of definition.words) words.add(word);
    }
    return this.#tables.filter((table) => words.has(table.toLowerCase()));
  }

  /** Whether a statement can read a view or a macro, or list them. */
  hasDefinition(statement: string): boolean {
    const words = wordsOf(statement);
    return (
      this.#definitions.some(({ name }) => words.has(name)) ||
      computed.some((word) => words.has(word)) ||
      [...words].some((word) => listing.test(word))
    );
  }
}

function wordsOf(statement: string): ReadonlySet<string> {
  return new Set(statement.toLowerCase().match(/\w+/g));
}
